#!/usr/bin/env python3
"""Rights: how long a changed one takes to hold, what rights cost a search, whether what is not yours looks like what is not there, forged keys.

    eval/workloads/rights/run.py --tributary target/release/tributary --documents 20000 --changes 50 --forged 500
    eval/workloads/rights/run.py --import 20000 --elasticsearch http://127.0.0.1:9200        # changes behind an import
    eval/workloads/rights/run.py --documents 200000 --questions 1000                         # cost at 200 000 chunks
    eval/workloads/rights/run.py --documents 800 --changes 0 --questions 0 --forged 0 --pairs 10000     # absence alone

Starts a server that wants keys, with feature hashing. Publishes `--documents` pages of one chunk each, each for one of 400 groups. Then:
change   pages that the reader's group sees are published again for another group, `--changes` of them, one after the other while others publish
         `--import` pages; from the acknowledgement until search, list, page and original no longer show it to the reader (the slowest counts).
         How many pages were on their way at the first and at the last change is told beside
cost     the same questions by an administrator, who sees everything, and by a reader in 200 groups of 400, in an order by chance
absence  pages and conversations of others and ids of nothing, `--pairs` of requests to each endpoint by `--clients` at once, each pair in an order
         by chance, of few pages again and again: bytes of the answers, their ids, traces and times aside, and times; p is that of a rank test
         (Mann and Whitney) that both kinds take the same time. Of 14 endpoints one in two runs has a p below .05 by chance
forged   keys that are cut, changed, swapped, doubled, of other schemes, expired or revoked: all must be refused with 401
"""
import json
import math
import random
import re
import statistics
import subprocess
import sys
import threading
import time
import pathlib
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of

SETTINGS = {
    "MODELS__KIND": "hashing",
    "TELEMETRY__FILTER": "warn",
    "CONVERT__REQUIRE_CONFINEMENT": "false",
    "QUERY_API__SERVER__NETWORK_ACCESS": "authenticated",
    # Neither the many publications nor the forged keys are to be slowed.
    "QUERY_API__SERVER__LIMITS__REQUESTS_PER_MINUTE": "0",
    "QUERY_API__SERVER__LIMITS__WRONG_KEYS_PER_MINUTE": "0",
}
GROUPS = 400
WORDS = ("antenna", "carrier", "scheduler", "handover", "载波聚合", "天线倾角", "调度器", "切换", "tilt", "power", "timer", "cell")
# What differs between any two answers, whatever is asked.
OWN = re.compile(rb'"(trace_id|document_id|(?:[a-z_]*_)?ms)":("[^"]*"|[0-9.e-]+)')


def get(path):
    return lambda wanted: ("GET", path.format(wanted), None)


def tool(wanted):
    call = {"name": "get_document", "arguments": {"document": wanted}}
    return "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}


def search_in(wanted):
    return "POST", "/v1/search", {"query": "antenna tilt", "filter": {"document_ids": [wanted]}}


# Each with what its ids are of. Pages are deleted by a publisher of another source.
ENDPOINTS = (
    ("page", "GET /v1/documents/ID", get("/v1/documents/{}")),
    ("page", "GET /v1/documents/ID?passages=true", get("/v1/documents/{}?passages=true")),
    ("page", "GET /v1/documents/ID/original", get("/v1/documents/{}/original")),
    ("page", "GET /v1/documents/ID/pages/1", get("/v1/documents/{}/pages/1")),
    ("page", "POST /v1/documents/states", lambda wanted: ("POST", "/v1/documents/states", {"document_ids": [wanted]})),
    ("page", "POST /v1/search in ID", search_in),
    ("page", "POST /mcp get_document", tool),
    ("page", "DELETE /v1/documents/ID", lambda wanted: ("DELETE", f"/v1/documents/{wanted}", None)),
    ("conversation", "GET /v1/conversations/ID", get("/v1/conversations/{}")),
    ("conversation", "GET /v1/conversations/ID/turns", get("/v1/conversations/{}/turns")),
    ("conversation", "GET /v1/conversations/ID/export", get("/v1/conversations/{}/export")),
    ("conversation", "PATCH /v1/conversations/ID", lambda wanted: ("PATCH", f"/v1/conversations/{wanted}", {"title": "mine"})),
    ("conversation", "DELETE /v1/conversations/ID", lambda wanted: ("DELETE", f"/v1/conversations/{wanted}", None)),
    ("turn", "GET /v1/ask/ID", get("/v1/ask/{}")),
)


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


def publish_all(server, admin, pages, told):
    """Publishes pages, eight at a time."""
    with ThreadPoolExecutor(8) as pool:
        for number, _ in enumerate(pool.map(lambda one: publish(server, admin, one), pages)):
            if told and number % 500 == 0:
                print(f"\r{number} published", end="", file=sys.stderr)


def settle(server, admin):
    while True:
        _, proof = server.ask("POST", "/v1/documents/reconcile", {}, admin)
        if proof.get("in_flight") == 0 and proof.get("waiting_records") == 0:
            return
        time.sleep(0.5)


def fill(server, admin, count, chance):
    publish_all(server, admin, (page(number, number % GROUPS, chance) for number in range(count)), True)
    settle(server, admin)
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


def changed_page(number, group):
    return {"source": "change", "source_path": f"c{number}.md", "content": f"# Change {number}\n\nzebra{number} crosses",
            "attributes": {"access": {"groups": [group]}}}


def on_their_way(server, admin):
    _, listed = server.ask("GET", "/v1/documents?source=import&limit=1", None, admin)
    final = ("indexed", "skipped", "deleted", "dead")
    return sum(count for state, count in listed["states"].items() if state not in final)


def change(server, admin, reader, count, imported, chance):
    """Delays of all changes, and how many pages of the import were on their way at the first and at the last of them."""
    documents = [publish(server, admin, changed_page(number, "g0")) for number in range(count)]
    settle(server, admin)
    assert all(all(views(server, reader, document, f"zebra{number}")) for number, document in enumerate(documents))
    pages = [{**page(number, number % GROUPS, chance), "source": "import"} for number in range(imported)]
    importing = threading.Thread(target=publish_all, args=(server, admin, pages, False))
    importing.start()
    until(lambda: not imported or on_their_way(server, admin) > imported / 10)
    waiting, delays = [on_their_way(server, admin)], []
    for number, document in enumerate(documents):
        publish(server, admin, changed_page(number, "others"))
        delays.append(until(lambda: not any(views(server, reader, document, f"zebra{number}"))))
    waiting.append(on_their_way(server, admin))
    importing.join()
    settle(server, admin)
    assert not any(any(views(server, reader, document, f"zebra{number}")) for number, document in enumerate(documents))
    return delays, waiting


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


def theirs(server, admin):
    """Ids of what the reader may not see, by what they are of."""
    _, listed = server.ask("GET", "/v1/documents?source=wiki&limit=500", None, admin)
    pages = [one["document_id"] for one in listed["documents"] if int(one["source_path"][:-3]) % GROUPS >= 200] or sys.exit("no other pages")
    conversations, turns = [], []
    for _ in range(20):
        _, made = server.ask("POST", "/v1/conversations", {}, admin)
        _, turn = server.ask("POST", "/v1/ask", {"question": "Which antenna tilt?", "conversation_id": made["id"]}, admin)
        conversations.append(made["id"])
        turns.append(turn["id"])
    return {"page": pages, "conversation": conversations, "turn": turns}


def nobodys(like, chance):
    """An id of nothing that looks like another."""
    return re.sub("[0-9a-f]", lambda _: f"{chance.randrange(16):x}", like)


def absence(server, admin, keys, asked):
    """What is others' and what is not there, by each endpoint: times of both, and how many pairs of answers differ."""
    ids = theirs(server, admin)
    for kind, name, request in ENDPOINTS:
        secret = keys["publisher" if name.startswith("DELETE /v1/documents") else "reader"]

        def pair(at):
            chance, other = random.Random(at), ids[kind][at % len(ids[kind])]
            wanted = {"not yours": other, "not there": nobodys(other, chance)}
            times, answers = {}, set()
            for which in chance.sample(list(wanted), 2):
                method, path, body = request(wanted[which])
                times[which], (status, answer) = timed(lambda: server.ask(method, path, body, secret))
                assert status in (200, 404), (name, which, status, answer)
                text = json.dumps(answer, separators=(",", ":")).encode()
                answers.add((status, OWN.sub(b"", text.replace(wanted[which].encode(), b"ID"))))
            return times, answers

        with ThreadPoolExecutor(asked.clients) as pool:
            pairs = list(pool.map(pair, range(asked.pairs)))
        times = {which: [times[which] for times, _ in pairs] for which in ("not yours", "not there")}
        different = [answers for _, answers in pairs if len(answers) > 1]
        if different:
            print(f"{name}: {different[0]}", file=sys.stderr)
        yield name, times, len(different)


def same_times(one, other):
    """p of the rank test by Mann and Whitney (1947) that both are of one distribution; the normal approximation, ties by their middle rank."""
    ranked, ranks, at = sorted([(time, 0) for time in one] + [(time, 1) for time in other]), 0.0, 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        ranks += (at + 1 + end) / 2 * sum(kind == 0 for _, kind in ranked[at:end])
        at = end
    u, mean = ranks - len(one) * (len(one) + 1) / 2, len(one) * len(other) / 2
    deviation = math.sqrt(len(one) * len(other) * (len(one) + len(other) + 1) / 12)
    return math.erfc(abs(u - mean) / deviation / math.sqrt(2))


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


def tell_change(delays, waiting):
    told("change", delays, "s ")
    print(f"{'on their way':12} {waiting[0]} pages at the first change, {waiting[1]} at the last")


def tell_cost(of_all, of_groups):
    told("all rights", of_all, "ms")
    told("200 groups", of_groups, "ms")
    print(f"{'ratio':12} {statistics.median(of_groups) / statistics.median(of_all):.2f}")


def tell_absence(endpoints, pairs):
    for name, times, different in endpoints:
        print(f"{name}: {different} of {pairs} answers differ, p = {same_times(*times.values()):.3f}")
        for kind, some in times.items():
            told(kind, some, "ms")


def settings_of(asked):
    if not asked.elasticsearch:
        return SETTINGS
    index = {"KIND": "elasticsearch", "ELASTICSEARCH__URLS": json.dumps([asked.elasticsearch]), "ELASTICSEARCH__INDEX_PREFIX": f"rights-{time.time_ns()}"}
    return {**SETTINGS, **{f"STORE__SEARCH_INDEX__{name}": value for name, value in index.items()}}


def main():
    numbers = (("documents", 20000, "pages"), ("changes", 50, "changed rights"), ("import", 0, "pages that are published meanwhile"),
               ("questions", 300, "questions"), ("pairs", 300, "pairs of what is absent, for each endpoint"),
               ("clients", 3, "that ask for pairs at once"), ("forged", 500, "forged keys"))
    parser = arguments(__doc__, *numbers)
    parser.add_argument("--elasticsearch", help="address of a node, in place of the embedded index; its indexes stay there")
    asked = parser.parse_args()
    chance = random.Random(1)
    with folder_of(asked.folder) as folder:
        server = Server(asked.tributary, folder, settings_of(asked))
        try:
            admin = key(asked, server, "admin", "--role", "administrator")
            groups = [argument for group in range(200) for argument in ("--group", f"g{group}")]
            reader = key(asked, server, "reader", "--role", "reader", *groups)
            fill(server, admin, asked.documents, chance)
            if asked.changes:
                tell_change(*change(server, admin, reader, asked.changes, getattr(asked, "import"), chance))
            if asked.questions:
                tell_cost(*cost(server, admin, reader, asked.questions, chance).values())
            if asked.pairs:
                keys = {"reader": reader, "publisher": key(asked, server, "publisher", "--role", "publisher=other")}
                tell_absence(absence(server, admin, keys, asked), asked.pairs)
            if asked.forged:
                print(f"{'forged':12} {forged(asked, server, asked.forged, reader, chance)}")
        finally:
            server.end()


if __name__ == "__main__":
    main()
