#!/usr/bin/env python3
"""Canaries: no byte of any answer holds a word of a document or section that its reader may not see, while everything changes.

    eval/workloads/rights/canary.py --tributary target/release/tributary --operations 100000
    eval/workloads/rights/canary.py --operations 100000 --elasticsearch http://127.0.0.1:9200

Starts a server that wants keys, with feature hashing. One thread publishes, narrows, widens and deletes `--documents` documents, each version with
words of its own, one in the open and one in a section with a level, and builds the index anew now and then; `--clients` threads ask everything
that a key may ask, as four readers of different groups and clearances, streams included. Every answer is searched for the words:

version   a word is only for who may see its version, and also, at some moment of the request, the newest that was acknowledged then or sent since
section   the same for the level of the section; while a newer version with a stricter rule is on its way, nothing of the document is for who is below it
log       the server's own log holds no word at all
An operation is a request, of a reader or of the writer. Words that were seen are counted, too, so that silence proves nothing by itself.
"""
import json
import pathlib
import random
import re
import sys
import threading
import time
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from run import SETTINGS, key, settings_of
from server import Server, arguments, folder_of

WORD = re.compile(rb"(kanarienvogel|sektionsvogel)(\d+)v(\d+)x")
READERS = (((), 0), (("a",), 1), (("b", "乙"), 3), (("a", "b"), 0))
ACCESS = (None, {}, {"groups": ["a"]}, {"groups": ["乙", "c"]}, {"groups": ["c"]}, {"groups": ["b"]})
LEVELS = (None, 0, 1, 3)
QUESTION = "secret budget of the plan"


class Version:
    """What a version says of its readers."""

    def __init__(self, access, level, section, is_deletion=False):
        self.access, self.level, self.section, self.is_deletion = access, level or 0, section, is_deletion

    def sees(self, reader):
        groups, clearance = reader
        if self.access is None or self.level > clearance:
            return False
        return self.access == {} or bool(set(self.access["groups"]) & set(groups))

    def sees_section(self, reader):
        return self.sees(reader) and (self.section is None or self.section <= reader[1])


class World:
    """What was published: versions that were sent, and up to which they were acknowledged."""

    def __init__(self, documents):
        self.lock = threading.Lock()
        self.sent = {number: {} for number in range(documents)}
        self.acknowledged = {number: 0 for number in range(documents)}
        self.seen, self.withheld = Counter(), 0

    def send(self, number, version, what):
        with self.lock:
            self.sent[number][version] = what

    def acknowledge(self, number, version):
        with self.lock:
            self.acknowledged[number] = version

    def start(self):
        with self.lock:
            return dict(self.acknowledged)

    def stated(self, number, version):
        """A deletion takes its turn and says nothing of readers: what was said before it holds."""
        return next(self.sent[number][at] for at in range(version, 0, -1) if at in self.sent[number] and not self.sent[number][at].is_deletion)

    def check(self, reader, begun, text):
        """Raises where the text has a word that is not for the reader."""
        for kind, number, version in set(WORD.findall(text)):
            number, version = int(number), int(version)
            with self.lock:
                own = self.sent[number][version]
                newest = [self.stated(number, at) for at in self.sent[number] if at >= max(begun[number], version)]
            is_section = kind.startswith(b"sektion")
            right = own.sees_section(reader) if is_section else own.sees(reader)
            right = right and any(what.sees_section(reader) if is_section else what.sees(reader) for what in newest)
            if not right:
                at = text.index(b"%s%dv%dx" % (kind, number, version))
                since = {at: "deletion" if what.is_deletion else vars(what) for at, what in self.sent[number].items() if at >= version}
                raise AssertionError(f"{kind.decode()}{number}v{version}x is not for {reader}, acknowledged was {begun[number]}: {since}: "
                                     f"{text[max(0, at - 200):at + 60]!r}")
            with self.lock:
                self.seen["section" if is_section else "document"] += 1


def event(number, version, what):
    """A document whose title, text, tag and author have its word, and a section with another."""
    word, closed = f"kanarienvogel{number}v{version}x", f"sektionsvogel{number}v{version}x"
    attributes = {"author": word}
    if what.access is not None:
        attributes["access"] = what.access
    if what.level:
        attributes["security_level"] = what.level
    content = f"# Budget {word}\n\nThe secret budget number {number} of the plan, {word}.\n"
    if what.section is not None:
        attributes["section_levels"] = [{"heading": "Closed*", "security_level": what.section}]
        content += f"\n## Closed {number}\n\nClosed remarks on the secret budget of the plan: {closed}.\n\n| item | sum |\n|---|---|\n| {closed} | 7 |\n"
    return {"source": "wiki", "source_path": f"{number}.md", "content": content, "attributes": attributes}


class Writer:
    """Changes documents until it is told to stop; counts what it did."""

    def __init__(self, server, admin, world, chance):
        self.server, self.admin, self.world, self.chance = server, admin, world, chance
        self.version, self.counts, self.ids = 0, Counter(), {}

    def publish(self, number):
        self.version += 1
        what = Version(self.chance.choice(ACCESS), self.chance.choice(LEVELS), self.chance.choice((None, 1, 2, 3)))
        self.world.send(number, self.version, what)
        status, answer = self.server.ask("POST", "/v1/documents", event(number, self.version, what), self.admin)
        assert status == 202, answer
        self.ids[number] = answer["document_id"]
        self.world.acknowledge(number, self.version)
        self.counts["published"] += 1

    def delete(self, number):
        self.version += 1
        self.world.send(number, self.version, Version(None, None, None, is_deletion=True))
        status, answer = self.server.ask("DELETE", f"/v1/documents/{self.ids[number]}", None, self.admin)
        assert status in (202, 404), answer
        self.world.acknowledge(number, self.version)
        self.counts["deleted"] += 1

    def rebuild(self):
        status, _ = self.server.ask("POST", "/v1/reindex", {}, self.admin)
        self.counts["rebuilt" if status == 202 else "rebuild refused"] += 1

    def go_on(self, documents, is_over, pause):
        while not is_over():
            number = self.chance.randrange(documents)
            done = self.chance.random()
            if done < 0.005:
                self.rebuild()
            elif done < 0.15 and number in self.ids:
                self.delete(number)
            else:
                self.publish(number)
            time.sleep(pause)


def call(name, arguments_):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments_}}


def requests(ids):
    """Everything that a reader may ask, of all and of each document."""
    search = {"query": QUESTION, "top_k": 40, "explain": True, "unfold": True, "parents": True, "neighbours": 2}
    yield from (("GET", path, None) for path in (
        "/v1/documents?limit=100", "/v1/documents?state=deleted", "/v1/documents?source=nowhere&tag=kanarienvogel", "/v1/facets", "/v1/tables",
        "/v1/knowledge-sets", "/v1/knowledge-sets/common", "/v1/conversations", "/v1/feedback", "/v1/missed-searches"))
    yield "POST", "/v1/search", search
    yield "POST", "/v1/search", {"query": "closed remarks", "strategy": "full_text", "neighbours": 3, "rerank": True}
    yield "POST", "/v1/search", {"query": "budget", "filter": {"tags": ["kanarienvogel"], "document_ids": ["wiki/kanarien"]}}
    yield "POST", "/v1/code/search", {"query": "budget"}
    yield "POST", "/v1/questions/explain", {"kind": "text", "question": "What is the secret budget?"}
    yield "POST", "/v1/documents/states", {"document_ids": ids}
    yield "POST", "/v1/tables/query", {"question": f"How much is the sum of the {QUESTION}?"}
    yield "POST", "/v1/tables/query", {"question": "all", "sql": "SELECT * FROM t1", "filter": {"document_ids": ids}}
    yield "POST", "/retrieval", {"knowledge_id": "common", "query": QUESTION, "retrieval_setting": {"top_k": 10, "score_threshold": 0.0}}
    yield "POST", "/v1/ask", {"question": f"What is the {QUESTION}?"}
    yield "POST", "/v1/ask", {"question": f"How large is the {QUESTION}?"}, "text/event-stream"
    yield "POST", "/v1/chat/completions", {"model": "common", "stream": True, "messages": [{"role": "user", "content": f"What is the {QUESTION}?"}]}
    yield "POST", "/mcp", call("search", {"query": QUESTION})
    yield "POST", "/mcp", call("list_knowledge_sets", {})
    for at, one in enumerate(ids):
        yield "GET", f"/v1/documents/{one}?passages=true", None
        yield "GET", f"/v1/documents/{one}/original", None
        yield "GET", f"/v1/documents/{one}/pages/1", None
        yield "GET", f"/v1/documents/wiki/{at}.mx", None
        yield "POST", "/v1/search", {"query": "closed remarks on the secret budget", "neighbours": 3, "parents": True, "filter": {"document_ids": [one]}}
        yield "POST", "/mcp", call("get_document", {"document": one})


class Reader:
    """Asks everything again and again, as each of the readers in turn."""

    def __init__(self, server, keys, world, writer):
        self.server, self.keys, self.world, self.writer = server, keys, world, writer
        self.statuses, self.refused, self.failed = Counter(), Counter(), None

    def go_on(self, is_over, count, chance):
        try:
            while not is_over():
                who, secret = chance.choice(self.keys)
                # As they are at each moment: the ids of all that was ever published.
                for request in requests(list(self.writer.ids.values())):
                    if is_over():
                        return
                    self.ask(who, secret, request)
                    count()
        except BaseException as failed:  # told by the main thread
            self.failed = failed
            raise

    def ask(self, who, secret, request):
        method, path, body, *accept = request
        begun = self.world.start()
        status, answer = self.server.ask(method, path, body, secret, *accept)
        assert status < 500, (request, status, answer)
        self.statuses[status] += 1
        if status not in (200, 404):
            self.refused[f"{method} {path.split('?')[0]} {status}"] += 1
        text = answer if isinstance(answer, bytes) else json.dumps(answer, ensure_ascii=False).encode()
        try:
            self.world.check(who, begun, text)
        except AssertionError as failed:
            raise AssertionError(f"{method} {path} {body}: {failed}") from None


def main():
    numbers = (("operations", 5000, "requests, all together"), ("documents", 6, "documents"), ("clients", 3, "that ask at once"),
               ("pause-ms", 20, "between two changes"))
    parser = arguments(__doc__, *numbers)
    parser.add_argument("--elasticsearch", help="address of a node, in place of the embedded index; its indexes stay there")
    asked = parser.parse_args()
    with folder_of(asked.folder) as folder:
        server = Server(asked.tributary, folder, {**settings_of(asked), "TELEMETRY__FILTER": "info"})
        try:
            run(asked, server, folder)
        finally:
            server.end()


def run(asked, server, folder):
    admin = key(asked, server, "admin", "--role", "administrator")
    keys = []
    for groups, clearance in READERS:
        rights = [argument for group in groups for argument in ("--group", group)]
        keys.append(((groups, clearance), key(asked, server, "reader", "--role", "reader", "--clearance", str(clearance), *rights)))
    world, done, lock = World(asked.documents), Counter(), threading.Lock()
    writer = Writer(server, admin, world, random.Random(7))
    readers = [Reader(server, keys, world, writer) for _ in range(asked.clients)]

    def count():
        with lock:
            done["read"] += 1

    def is_over():
        is_broken = any(reader.failed for reader in readers)
        return is_broken or done["read"] + writer.version >= asked.operations

    for number in range(asked.documents):
        writer.publish(number)
    begun = time.perf_counter()
    threads = [threading.Thread(target=reader.go_on, args=(is_over, count, random.Random(at))) for at, reader in enumerate(readers)]
    threads.append(threading.Thread(target=writer.go_on, args=(asked.documents, is_over, getattr(asked, "pause_ms") / 1000)))
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(5)
        print(f"\r{done['read'] + writer.version} operations, {dict(world.seen)} words seen   ", end="", file=sys.stderr)
    print(file=sys.stderr)
    tell(asked, folder, world, writer, readers, done["read"], time.perf_counter() - begun)


def tell(asked, folder, world, writer, readers, read, seconds):
    failed = [reader.failed for reader in readers if reader.failed]
    log = (folder / "log").read_bytes()
    found = WORD.search(log)
    statuses = sum((reader.statuses for reader in readers), Counter())
    print(f"{read} requests by {len(READERS)} readers and {writer.version} changes ({dict(writer.counts)}) in {seconds:.0f} s")
    print(f"words seen by who may: {dict(world.seen)}; answers by status: {dict(statuses)}")
    print(f"{'refused':12} {dict(sum((reader.refused for reader in readers), Counter()).most_common(5))}")
    print(f"{'index':12} {'Elasticsearch' if asked.elasticsearch else 'embedded'}")
    print(f"{'log':12} {len(log)} bytes, {'a word: ' + repr(found[0]) if found else 'no word'}")
    for one in failed:
        print(f"FORBIDDEN    {one}")
    if failed or found:
        sys.exit(1)
    if read and min(world.seen["document"], world.seen["section"]) < read / 100:
        sys.exit("hardly any word was seen: nothing was tried")


if __name__ == "__main__":
    main()
