#!/usr/bin/env python3
"""Lists of many documents: what a page costs, sorted and filtered, and that paging neither doubles nor loses a document.

    eval/workloads/lists/run.py --tributary target/release/tributary --documents 100000
    eval/workloads/lists/run.py --tributary target/release/tributary --documents 100000 --elasticsearch http://127.0.0.1:9200

Publishes `--documents` small pages of four sources with titles in two languages, a fifth of them in a knowledge set of its own and with a tag, and
waits until all can be found. Then asks for pages of `--page` as the command line and the web page do, `--times` each: how long they took, and how
far the memory of the process rose above what it was before. At last it reads all pages by source while other documents are published and deleted,
and compares what was listed with what was there all the time. Python 3.11 and Linux are enough.
"""
import concurrent.futures
import json
import pathlib
import statistics
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of

SETTINGS = {
    "MODELS__KIND": "hashing",
    "TELEMETRY__FILTER": "warn",
    "CONVERT__REQUIRE_CONFINEMENT": "false",
}
SOURCES = ("wiki", "handbook", "manuals", "网络规范")
WORDS = ("antenna", "carrier", "scheduler", "Handover", "载波聚合", "天线倾角", "调度器", "切换")
SETS = {
    "knowledge_sets": [
        {"id": "common", "name": "Common", "view": "common", "rules": [{"source": "*"}]},
        {"id": "radio", "name": "Radio", "view": "capability", "rules": [{"path": "radio/**", "tags": ["radio"]}]},
    ]
}
# What is asked for, and by which parameters.
PAGES = (
    ("by source", {}),
    ("by title, the last first", {"sort": "title", "descending": "true"}),
    ("by path", {"sort": "path"}),
    ("newest first", {"sort": "time", "descending": "true"}),
    ("by state", {"sort": "state"}),
    ("by id", {"sort": "id"}),
    ("of a source, by title", {"source": "handbook", "sort": "title"}),
    ("of a knowledge set, newest first", {"knowledge_set": "radio", "sort": "time", "descending": "true"}),
    ("with a tag, by title", {"tag": "radio", "sort": "title"}),
    ("title has `载波`, by path", {"title": "载波", "sort": "path"}),
    ("path has `chapter 7/`", {"path": "chapter 7/"}),
    ("text `HANDOVER 4242`", {"text": "HANDOVER 4242"}),
    ("searchable, indexed, by title", {"searchable": "true", "state": "indexed", "sort": "title"}),
    ("nothing meets it", {"title": "no such title"}),
)


def event(number):
    word = WORDS[number % len(WORDS)]
    folder = "radio" if number % 5 == 0 else f"chapter {number % 97}"
    return {
        "source": SOURCES[number % len(SOURCES)],
        "source_path": f"{folder}/page {number}.md",
        "title": f"{word} {number}",
        "content": f"# {word} {number}\n\nThe {word} of cell {number} is set to {number % 31} by the operator of sector {number % 997}.\n",
    }


def accepted(server, body):
    while True:
        status, answer = server.ask("POST", "/v1/documents", body)
        if status == 202:
            return answer["document_id"]
        if status not in (429, 503):
            sys.exit(f"not accepted: {status} {answer}")
        time.sleep(0.2)


def publish(server, documents):
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda number: accepted(server, event(number)), range(documents)))
    print(f"{documents} published in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    while server.ask("GET", "/v1/documents?limit=1&searchable=true")[1]["total"] < documents:
        time.sleep(2)
    print(f"searchable after {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return ids


def address(parameters):
    return "/v1/documents?" + urllib.parse.urlencode(parameters)


def page(server, parameters):
    status, answer = server.ask("GET", address(parameters))
    if status != 200:
        sys.exit(f"{parameters}: {status} {answer}")
    return answer


def measure(server, name, parameters, arguments):
    before, seconds = server.memory(), []
    server.forget_peak()
    for _ in range(arguments.times):
        begun = time.monotonic()
        answer = page(server, {**parameters, "limit": arguments.page})
        seconds.append(time.monotonic() - begun)
    rise = max(0, server.memory("VmHWM") - before)
    seconds.sort()
    slow = seconds[int(len(seconds) * 0.95)]
    print(f"| {name} | {answer['total']} | {statistics.median(seconds) * 1000:.1f} ms | {slow * 1000:.1f} ms | {rise:.0f} MB |", flush=True)


def all_pages(server, size):
    listed, after = [], {}
    while True:
        answer = page(server, {"limit": size, **after})
        listed += [document["document_id"] for document in answer["documents"]]
        if not answer["next"]:
            return listed
        after = {"after": answer["next"]}


def paged_under_change(server, ids, documents):
    """Reads all pages while documents come and go; those that were there all the time must be listed once."""
    stop, leaving = threading.Event(), set(ids[::50])

    def change():
        for number, document_id in enumerate(leaving):
            if stop.is_set():
                return
            server.ask("DELETE", "/v1/documents/" + document_id)
            accepted(server, event(documents + number))

    changing = threading.Thread(target=change)
    changing.start()
    begun = time.monotonic()
    listed = all_pages(server, 1000)
    took = time.monotonic() - begun
    stop.set()
    changing.join()
    stayed = [document_id for document_id in ids if document_id not in leaving]
    counted = {}
    for document_id in listed:
        counted[document_id] = counted.get(document_id, 0) + 1
    lost = sum(document_id not in counted for document_id in stayed)
    doubled = sum(count > 1 for count in counted.values())
    print(f"\nall pages of 1000 while others change: {len(listed)} listed in {took:.1f} s, {lost} lost, {doubled} doubled")
    return lost or doubled


def main():
    wanted = arguments(__doc__, ("documents", 100_000, "documents"), ("page", 100, "documents on a page"), ("times", 20, "times each page is asked for"))
    wanted.add_argument("--elasticsearch", help="address of a node that is to hold the index")
    wanted = wanted.parse_args()
    settings = dict(SETTINGS)
    if wanted.elasticsearch:
        settings["STORE__SEARCH_INDEX__KIND"] = "elasticsearch"
        settings["STORE__SEARCH_INDEX__ELASTICSEARCH__URLS"] = json.dumps([wanted.elasticsearch])
        settings["STORE__SEARCH_INDEX__ELASTICSEARCH__INDEX_PREFIX"] = f"lists-{int(time.time())}"
    with folder_of(wanted.folder) as folder:
        server = Server(wanted.tributary, folder, settings)
        status, answer = server.ask("PUT", "/v1/knowledge-sets", SETS)
        if status != 200:
            sys.exit(f"knowledge sets: {status} {answer}")
        ids = publish(server, wanted.documents)
        print("| page | of documents | median | 95 % | memory above before |\n|---|---|---|---|---|")
        for name, parameters in PAGES:
            measure(server, name, parameters, wanted)
        failed = paged_under_change(server, ids, wanted.documents)
        server.end()
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
