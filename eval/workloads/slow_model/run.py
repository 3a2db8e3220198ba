#!/usr/bin/env python3
"""Documents that need no summary while others wait for a slow language model: how much longer they take.

    eval/workloads/slow_model/run.py --tributary target/release/tributary

A chat server of this script's takes two seconds for a reply and eight calls at a time. Publishes `--small` documents to a fresh server and waits
for all of them; then, on another one, `--long` documents whose sections need summaries, and the small ones behind them. Says the throughput of
the small ones in both cases, `--rounds` times in turn, and the ratio of the medians. Embeddings are hashed: what is measured is the waiting.
Python 3.11 and Linux are enough.
"""
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of
from summarized import long_document, model, open_ones, publish, settings, small_document

REPLY_SECONDS = 2
PARALLEL = 8


def throughput(asked, port, long):
    """Small documents a second."""
    with folder_of(None) as folder:
        server = Server(asked.tributary, folder, settings(port, PARALLEL))
        try:
            for number in range(long):
                publish(server, f"long-{number}", long_document(number))
            begun = time.monotonic()
            small = [f"small-{number}" for number in range(asked.small)]
            for number, document in enumerate(small):
                publish(server, document, small_document(number))
            waiting = small
            while waiting:
                time.sleep(0.02)
                waiting = open_ones(server, waiting)
            taken = time.monotonic() - begun
            if long:
                left = open_ones(server, [f"long-{number}" for number in range(long)])
                print(f"  {len(left)} of {long} long ones still wait for the model then", flush=True)
            return asked.small / taken
        finally:
            server.process.kill()
            server.process.wait()


def main():
    parser = arguments(
        __doc__,
        ("small", 1500, "documents that need no summary"),
        ("long", 60, "documents with three summaries each"),
        ("rounds", 5, "how often both are measured"),
    )
    asked = parser.parse_args()
    port = model(REPLY_SECONDS).server_port
    alone, beside = [], []
    for _ in range(asked.rounds):
        alone.append(throughput(asked, port, 0))
        beside.append(throughput(asked, port, asked.long))
        print(f"{alone[-1]:.0f} small documents a second alone, {beside[-1]:.0f} beside {asked.long} long ones", flush=True)
    ratio = statistics.median(beside) / statistics.median(alone)
    print(f"median {statistics.median(alone):.0f} and {statistics.median(beside):.0f} a second: {ratio:.2f} times")


main()
