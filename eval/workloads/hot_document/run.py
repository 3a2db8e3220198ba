#!/usr/bin/env python3
"""One document that is published again and again, and others of its partition: how long they wait for it.

    eval/workloads/hot_document/run.py --tributary target/release/tributary --publishes 3200

Publishes one document `--publishes` times as fast as the server takes it, then ten others, and waits until all of them are indexed, the first one
in its last version. Python 3.11 and Linux are enough.
"""
import concurrent.futures
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of

# One partition, so that all of them share it.
SETTINGS = {"MODELS__KIND": "hashing", "TELEMETRY__FILTER": "warn", "STORE__PARTITIONS": "1"}
HOT, OTHERS = "hot", [f"other-{number}" for number in range(10)]


def publish(server, document, text):
    event = {"source": "hot-document", "document_id": document, "content": f"# {document}\n\n{text}"}
    status, answer = server.ask("POST", "/v1/documents", event)
    if status != 202:
        sys.exit(f"not accepted: {status} {answer}")
    return answer["version"]


def run(server, publishes):
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        newest = max(pool.map(lambda number: publish(server, HOT, f"version {number}"), range(publishes)))
    begun, published = time.monotonic(), time.monotonic() - begun
    wanted = {HOT: newest, **{other: publish(server, other, "quiet") for other in OTHERS}}
    waited = {}
    while len(waited) < len(wanted):
        states = server.ask("POST", "/v1/documents/states", {"document_ids": list(wanted)})[1]["documents"]
        for state in filter(None, states):
            if state["state"] == "indexed" and state["version"] == wanted[state["document_id"]]:
                waited.setdefault(state["document_id"], time.monotonic() - begun)
        time.sleep(0.05)
    others = sorted(waited[other] for other in OTHERS)
    print(f"{publishes} publications of one document in {published:.1f} s; {len(others)} others waited {others[len(others) // 2]:.1f} s at the median,")
    print(f"{others[-1]:.1f} s at most; its last version was indexed after {waited[HOT]:.1f} s")


def main():
    asked = arguments(__doc__, ("publishes", 3_200, "publications of the one document")).parse_args()
    with folder_of(asked.folder) as folder:
        server = Server(asked.tributary, folder, SETTINGS)
        try:
            run(server, asked.publishes)
        finally:
            server.end()


main()
