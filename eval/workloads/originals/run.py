#!/usr/bin/env python3
"""What it costs to keep the originals of small documents.

    eval/workloads/originals/run.py --tributary target/release/tributary --documents 300

Publishes small pages, with feature hashing, to a fresh server with `ingest.keep_originals` and to one without, in turns, `--times` each, and says how
long it took until all could be found, the processor time of the process, and the bytes on the disk. Python 3.11 and Linux are enough.
"""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of, size
from sets import publish

TICKS = 100


def measure(asked, keeps):
    settings = {"MODELS__KIND": "hashing", "TELEMETRY__FILTER": "warn", "INGEST__KEEP_ORIGINALS": keeps}
    pages = [{"_id": f"page-{number}", "text": f"The tilt of sector {number} is {number % 13} degrees. " * 40} for number in range(asked.documents)]
    with folder_of(None) as folder:
        server = Server(asked.tributary, folder, settings)
        try:
            begun = time.monotonic()
            publish(server, pages)
            took = time.monotonic() - begun
            fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            processor = (int(fields[11]) + int(fields[12])) / TICKS
            parts = ", ".join(f"{part} {size(server.data / part) / 1e6:.1f} MB" for part in ("blobs", "log", "index"))
            print(f"keep_originals = {keeps}: {took:.1f} s, {processor:.1f} s of processor time, {parts}", flush=True)
        finally:
            server.end()


def main():
    numbers = [("documents", 300, "documents of each run"), ("times", 3, "runs of each kind")]
    asked = arguments(__doc__, *numbers).parse_args()
    for _ in range(asked.times):
        for keeps in ("false", "true"):
            measure(asked, keeps)


if __name__ == "__main__":
    main()
