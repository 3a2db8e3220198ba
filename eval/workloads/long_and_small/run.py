#!/usr/bin/env python3
"""Small documents published behind long ones: how long they wait to be searchable, with the long ones and without them.

    eval/workloads/long_and_small/run.py --tributary target/release/tributary --models .tributary/models

Publishes `--small` documents of 8 KiB to a fresh server and waits for all of them; then, on another fresh server, two documents of `--megabytes`
MB, and the small ones once the first long one is being embedded. Says the median and the longest wait of the small ones in both cases, and
their ratio. The long documents are left unfinished. The text is made of words by chance, with a fixed seed. Python 3.11 and Linux are enough.
"""
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of

SMALL_BYTES = 8 << 10
LONG_DOCUMENTS = 2
WORDS = """carrier antenna tilt sector power beam channel resource block schedule handover neighbour cell alarm threshold counter
measurement report uplink downlink interference coverage capacity planning base station radio link quality parameter command configure
value range default license feature release upgrade board slot cable clock synchronisation transport route address bandwidth delay""".split()


def text(number, size):
    """Paragraphs under headings, as manuals have them."""
    chance = random.Random(number)
    parts, length = [f"# Document {number}"], 0
    while length < size:
        sentences = " ".join(
            " ".join(chance.choices(WORDS, k=12)).capitalize() + f" {chance.randrange(10_000)}." for _ in range(8)
        )
        part = f"## Section {len(parts)}\n\n{sentences}"
        parts.append(part)
        length += len(part)
    return "\n\n".join(parts)


def publish(server, document, content):
    status, answer = server.ask("POST", "/v1/documents", {"source": "waits", "document_id": document, "content": content})
    if status != 202:
        sys.exit(f"not accepted: {status} {answer}")


def states(server, documents):
    answer = server.ask("POST", "/v1/documents/states", {"document_ids": documents})[1]["documents"]
    return {state["document_id"]: state["state"] for state in filter(None, answer)}


def wait_until_embedding(server, documents):
    """Until the stage has the long ones: the small ones are to stand behind them."""
    while not all(state in ("embedding", "indexing") for state in states(server, documents).values()):
        time.sleep(0.2)


def waits(server, contents):
    """Seconds from publication to searchable, of each."""
    begun = {}
    for number, content in enumerate(contents):
        begun[f"small-{number}"] = time.monotonic()
        publish(server, f"small-{number}", content)
    waited = {}
    while len(waited) < len(begun):
        for document, state in states(server, [document for document in begun if document not in waited]).items():
            if state == "indexed":
                waited[document] = time.monotonic() - begun[document]
        time.sleep(0.05)
    return list(waited.values())


def measure(asked, long_bytes):
    settings = {"TELEMETRY__FILTER": "warn", "MODELS__SEARCH_FOLDERS": f'["{asked.models}"]'}
    with folder_of(asked.folder and asked.folder / ("behind" if long_bytes else "alone")) as folder:
        server = Server(asked.tributary, folder, settings)
        try:
            if long_bytes:
                long = [f"long-{number}" for number in range(LONG_DOCUMENTS)]
                for number, document in enumerate(long):
                    publish(server, document, text(1_000_000 + number, long_bytes))
                wait_until_embedding(server, long)
            waited = waits(server, [text(number, SMALL_BYTES) for number in range(asked.small)])
            if long_bytes:
                open_still = [document for document, state in states(server, long).items() if state != "indexed"]
                print(f"  {len(open_still)} of {len(long)} long ones are still on their way then", flush=True)
            return waited
        finally:
            server.process.kill()
            server.process.wait()


def main():
    parser = arguments(__doc__, ("small", 120, "small documents"))
    parser.add_argument("--megabytes", type=int, default=10, help="size of each long document (10)")
    parser.add_argument("--models", required=True, type=pathlib.Path, help="folder with multilingual-e5-small")
    asked = parser.parse_args()
    medians = []
    for name, size in (("alone", 0), (f"behind {LONG_DOCUMENTS} of {asked.megabytes} MB", asked.megabytes * 1_000_000)):
        waited = measure(asked, size)
        medians.append(statistics.median(waited))
        print(f"{asked.small} small documents {name}: searchable after {medians[-1]:.1f} s at the median, {max(waited):.1f} s at most", flush=True)
    print(f"median {medians[1] / medians[0]:.2f} times as long")


main()
