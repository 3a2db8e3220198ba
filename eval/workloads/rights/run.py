#!/usr/bin/env python3
"""Rights: how long a changed one takes to hold, what rights cost a search, whether what is not yours looks like what is not there, forged keys.

    eval/workloads/rights/run.py --tributary target/release/tributary --documents 20000 --changes 50 --forged 500

Starts a server that wants keys, with feature hashing. Publishes `--documents` pages, each for one of 400 groups. Then:
change   a page is published for the reader's group, and again for another group; from the acknowledgement until search, list, page and original
         no longer show it to the reader (the slowest of them counts), `--changes` times
cost     the same questions by an administrator, who sees everything, and by a reader in 200 groups of 400, one after the other
absence  pages of other groups and ids of nothing, by turns: bytes of the answers, their ids and traces aside, and times
forged   keys that are cut, changed, swapped, doubled, of other schemes, expired or revoked: all must be refused with 401
"""
import json
import random
import re
import statistics
import subprocess
import sys
import time
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of

SETTINGS = {
    "MODELS__KIND": "hashing",
    "TELEMETRY__FILTER": "warn",
    "CONVERT__REQUIRE_CONFINEMENT": "false",
    "QUERY_API__SERVER__NETWORK_ACCESS": "authenticated",
}
GROUPS = 400
WORDS = ("antenna", "carrier", "scheduler", "handover", "载波聚合", "天线倾角", "调度器", "切换", "tilt", "power", "timer", "cell")
TRACE = re.compile(rb'"(trace_id|document_id)":"[^"]*"')


def key(asked, server, name, *rights):
    command = [str(pathlib.Path(asked.tributary).resolve()), "--data-dir", str(server.data), "keys", "create", "--name", name, *rights]
    made = subprocess.run([*command, "--format", "json"], check=True, capture_output=True, text=True)
    return re.search(r"trb_[0-9a-f]+_[0-9a-f]+", made.stdout)[0]


def page(number, group, chance):
    words = " ".join(chance.choices(WORDS, k=60))
    return {"source": "wiki", "source_path": f"{number}.md", "content": f"# Page {number}\n\n{words} word{number}",
            "attributes": {"access": {"groups": [f"g{group}"]}}}


def publish(server, admin, event):
    status, answer = server.ask("POST", "/v1/documents", event, admin)
    assert status == 202, answer
    return answer["document_id"]


def fill(server, admin, count, chance):
    for number in range(count):
        publish(server, admin, page(number, number % GROUPS, chance))
        if number % 500 == 0:
            print(f"\r{number} of {count} published", end="", file=sys.stderr)
    while True:
        _, proof = server.ask("POST", "/v1/documents/reconcile", {}, admin)
        if proof.get("in_flight") == 0 and proof.get("waiting_records") == 0:
            break
        time.sleep(0.5)
    print(f"\r{count} documents are there        ", file=sys.stderr)


def views(server, reader, document, word):
    """Ways in which the reader may still see the page."""
    _, found = server.ask("POST", "/v1/search", {"query": word}, reader)
    yield any(hit["document_id"] == document for hit in found["hits"])
    _, listed = server.ask("GET", "/v1/documents?source=change", None, reader)
    yield any(one["document_id"] == document for one in listed["documents"])
    for path in (f"/v1/documents/{document}?passages=true", f"/v1/documents/{document}/original"):
        yield server.ask("GET", path, None, reader)[0] == 200


def until(holds):
    begun = time.perf_counter()
    while not holds():
        assert time.perf_counter() - begun < 60, "waited in vain"
        time.sleep(0.002)
    return time.perf_counter() - begun


def change(server, admin, reader, count):
    delays = []
    for number in range(count):
        event = {"source": "change", "source_path": f"c{number}.md", "content": f"# Change {number}\n\nzebra{number} crosses",
                 "attributes": {"access": {"groups": ["g0"]}}}
        document = publish(server, admin, event)
        until(lambda: all(views(server, reader, document, f"zebra{number}")))
        event["attributes"] = {"access": {"groups": ["others"]}}
        publish(server, admin, event)
        delays.append(until(lambda: not any(views(server, reader, document, f"zebra{number}"))))
    return delays


def timed(work):
    begun = time.perf_counter()
    answer = work()
    return (time.perf_counter() - begun) * 1000, answer


def cost(server, admin, reader, count, chance):
    times = {admin: [], reader: []}
    for _ in range(count):
        question = {"query": " ".join(chance.choices(WORDS, k=3))}
        for who in chance.sample([admin, reader], 2):
            took, (status, _) = timed(lambda who=who: server.ask("POST", "/v1/search", question, who))
            assert status == 200
            times[who].append(took)
    return times


def absence(server, admin, reader, count, documents):
    """Other people's pages and none, by turns."""
    step = max(1, documents // count)
    _, listed = server.ask("GET", "/v1/documents?source=wiki&limit=500", None, admin)
    others = [one["document_id"] for one in listed["documents"] if int(one["source_path"][:-3]) % GROUPS >= 200][:count] or sys.exit("no other pages")
    times, different = {"not yours": [], "not there": []}, 0
    for at in range(count):
        theirs = others[at * step % len(others)]
        nothing = f"{at:032x}"
        answers = []
        for kind, document in (("not yours", theirs), ("not there", nothing)):
            took, (status, answer) = timed(lambda document=document: server.ask("GET", f"/v1/documents/{document}", None, reader))
            assert status == 404, (kind, status, answer)
            times[kind].append(took)
            answers.append(TRACE.sub(b"", json.dumps(answer, separators=(",", ":")).encode().replace(document.encode(), b"ID")))
        different += answers[0] != answers[1]
    return times, different


def forged(asked, server, count, real, chance):
    """Refused ones of `count`, by status."""
    command = [str(pathlib.Path(asked.tributary).resolve()), "--data-dir", str(server.data), "keys", "revoke"]
    gone = key(asked, server, "gone", "--role", "administrator")
    subprocess.run([*command, gone.split("_")[1]], check=True, capture_output=True)
    scheme, name, secret = real.split("_")

    def one():
        at = chance.randrange(len(secret))
        other = secret[:at] + chance.choice([digit for digit in "0123456789abcdef" if digit != secret[at]]) + secret[at + 1:]
        return chance.choice([
            f"{scheme}_{name}_{other}", f"{scheme}_{name}_{secret[:chance.randrange(64)]}", f"{scheme}_{name}_{secret}0", f"{scheme}_{other[:12]}_{secret}",
            f"Basic {real}", f"Bearer {real} {real}", f"Bearer  {other}", gone, real.upper(), f"{scheme}_{name}_{secret[::-1]}", secret, "Bearer null",
            "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.", "Digest username=admin", f"{name}_{scheme}_{secret}", "Bearer undefined",
        ])

    statuses = {}
    for _ in range(count):
        status, _ = server.ask("GET", "/v1/documents", None, one())
        statuses[status] = statuses.get(status, 0) + 1
    return statuses


def told(name, times, unit):
    ordered = sorted(times)
    print(f"{name:12} p50 {statistics.median(ordered):8.2f} {unit}  p99 {ordered[int(0.99 * (len(ordered) - 1))]:8.2f} {unit}  of {len(ordered)}", flush=True)


def main():
    numbers = (("documents", 20000, "pages"), ("changes", 50, "changed rights"), ("questions", 300, "questions"), ("forged", 500, "forged keys"))
    asked = arguments(__doc__, *numbers).parse_args()
    chance = random.Random(1)
    with folder_of(asked.folder) as folder:
        server = Server(asked.tributary, folder, SETTINGS)
        try:
            admin = key(asked, server, "admin", "--role", "administrator")
            groups = [argument for group in range(200) for argument in ("--group", f"g{group}")]
            reader = key(asked, server, "reader", "--role", "reader", *groups)
            fill(server, admin, asked.documents, chance)
            told("change", change(server, admin, reader, asked.changes), "s ")
            times = cost(server, admin, reader, asked.questions, chance)
            told("all rights", times[admin], "ms")
            told("200 groups", times[reader], "ms")
            print(f"{'ratio':12} {statistics.median(times[reader]) / statistics.median(times[admin]):.2f}")
            times, different = absence(server, admin, reader, asked.questions, asked.documents)
            for kind, some in times.items():
                told(kind, some, "ms")
            print(f"{'different':12} {different} of {asked.questions} answers")
            print(f"{'forged':12} {forged(asked, server, asked.forged, reader, chance)}")
        finally:
            server.end()


if __name__ == "__main__":
    main()
