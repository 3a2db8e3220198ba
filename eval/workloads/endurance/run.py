#!/usr/bin/env python3
"""Days of use in hours: publishes, changes and deletes a fixed number of documents again and again, and prints memory and disk over time.

    eval/workloads/endurance/run.py --tributary target/release/tributary --publishes 100000

One process with the embedded stores and small segments runs in a folder of its own. Producers speak HTTP: of a hundred operations eighty publish a
document of `--ids` ids with new content, five repeat what it said last, ten delete one, and five publish what cannot be converted (a dead letter). At
every quarter of the way a new generation of the index is built, while work goes on. What has an end should be flat in the table: memory, and the disk
but for what is kept on purpose. In the end everything must be reconciled. Python 3.11 and Linux are enough.
"""
import concurrent.futures
import json
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of

SETTINGS = {
    "MODELS__KIND": "hashing",
    "TELEMETRY__FILTER": "warn",
    "STORE__INLINE_LIMIT_BYTES": "16384",
    "STORE__RETENTION_BYTES": "16777216",
    "STORE__EVENT_LOG__EMBEDDED__SEGMENT_BYTES": "1048576",
    "STORE__EVENT_LOG__EMBEDDED__MAINTENANCE_INTERVAL_SECONDS": "5",
    "STORE__EVENT_LOG__EMBEDDED__TOMBSTONE_RETENTION_SECONDS": "60",
}
COLUMNS = ["operations", "seconds", "operations/s", "memory", "largest", "threads", "files", "log", "index", "blobs", "indexed", "deleted", "dead letters"]
WORDS = "relay carrier cell signal handover sector antenna uplink downlink beam".split()


class Producer:
    """One that repeats itself by its seed."""

    def __init__(self, server, number, arguments):
        self.server, self.random = server, random.Random(f"{arguments.seed} {number}")
        self.ids = range(number, arguments.ids, arguments.producers)
        self.said, self.known = {}, {}

    def content(self, document):
        sections = 1 + self.random.randrange(4)
        text = lambda: " ".join(self.random.choice(WORDS) for _ in range(60))
        return f"# Document {document}\n\n" + "\n\n".join(f"## Part {part}\n\nq{self.random.randrange(10**9)} {text()}." for part in range(sections))

    def operate(self):
        document, kind = self.random.choice(self.ids), self.random.randrange(100)
        if kind < 10 and document in self.known:
            return self.expect(self.server.ask("DELETE", f"/v1/documents/{self.known[document]}"))
        path = f"{document}.md"
        if kind < 15:
            event = {"source": "broken", "source_path": f"{document}.png", "content_base64": "iVBORw0KGgo="}
            return self.expect(self.server.ask("POST", "/v1/documents", event))
        if kind >= 20 or document not in self.said:
            self.said[document] = self.content(document)
        event = {"source": "endurance", "source_path": path, "content": self.said[document]}
        self.known[document] = self.expect(self.server.ask("POST", "/v1/documents", event))["document_id"]
        return None

    @staticmethod
    def expect(answer):
        if answer[0] != 202:
            raise RuntimeError(f"not accepted: {answer}")
        return answer[1]

    def work(self, operations):
        for _ in range(operations):
            self.operate()


def quiet(server):
    """Waits until nothing is under way, a build of a generation neither."""
    while True:
        _, proof = server.ask("POST", "/v1/documents/reconcile", {})
        _, overview = server.ask("GET", "/v1/reindex")
        builds = [build["report"]["state"] for build in overview["builds"]]
        if proof["in_flight"] == proof["waiting_records"] == 0 and not {"waiting", "building", "blocked"} & set(builds):
            return proof, builds
        time.sleep(1)


def row(server, done, begun, last):
    _, proof = server.ask("POST", "/v1/documents/reconcile", {})
    seconds = time.monotonic() - begun
    pace = (done - last[0]) / max(seconds - last[1], 1e-9)
    last[:] = [done, seconds]
    counts = [str(proof.get(name, "–")) for name in ["indexed", "deleted", "dead"]]
    print(f"| {done} | {seconds:.0f} | {pace:.0f} | " + " | ".join([*server.sizes(), *counts]) + " |", flush=True)


def run(server, arguments):
    producers = [Producer(server, number, arguments) for number in range(arguments.producers)]
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS), flush=True)
    begun, last, share = time.monotonic(), [0, 0.0], max(1, arguments.publishes // arguments.rows // arguments.producers)
    with concurrent.futures.ThreadPoolExecutor(arguments.producers) as pool:
        for number in range(1, arguments.rows + 1):
            if number % max(1, arguments.rows // 4) == 0:
                server.ask("POST", "/v1/reindex", {})
            list(pool.map(lambda producer: producer.work(share), producers))
            row(server, number * share * arguments.producers, begun, last)
    proof, builds = quiet(server)
    row(server, arguments.rows * share * arguments.producers, begun, last)
    print(f"\nreconciled: {json.dumps(proof)[:2000]}\nbuilds of the index: {builds}")
    return proof.get("ok") is True


def main():
    parser = arguments(
        __doc__,
        ("publishes", 100_000, "operations in all"),
        ("ids", 10_000, "documents that they are spread over"),
        ("producers", 4, "connections at a time"),
        ("rows", 20, "rows of the table"),
    )
    parser.add_argument("--seed", default="1", help="another one does other things")
    asked = parser.parse_args()
    with folder_of(asked.folder) as folder:
        server = Server(asked.tributary, folder, SETTINGS)
        try:
            is_right = run(server, asked)
        finally:
            server.end()
    sys.exit(0 if is_right else 1)


main()
