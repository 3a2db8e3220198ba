#!/usr/bin/env python3
"""Many large dead letters: what it costs to list, show, replay and drop them.

    eval/workloads/dead_letters/run.py --tributary target/release/tributary --letters 100000

Publishes `--letters` documents of `--bytes` that nothing converts, of `--distinct` contents (which is what the disk has to hold), waits until all of
them are dead letters, and asks for them as a person does. For each request: how long it took, the median of `--times`, and how far the memory of
the process rose above what it was before. Then the process is killed and started again. Python 3.11 and Linux are enough.
"""
import base64
import concurrent.futures
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of

SETTINGS = {"MODELS__KIND": "hashing", "TELEMETRY__FILTER": "warn", "QUERY_API__SERVER__DOCUMENT_LIMIT_BYTES": "67108864"}


def content(number, size):
    """An audio file by its first bytes."""
    return base64.b64encode(b"RIFF\x00\x00\x00\x00WAVEfmt " + random.Random(number).randbytes(size)).decode()


def publish(server, arguments):
    contents = [content(number, arguments.bytes) for number in range(arguments.distinct)]

    def one(number):
        event = {"source": "audio", "source_path": f"{number}.wav", "content_base64": contents[number % len(contents)]}
        while True:
            status, answer = server.ask("POST", "/v1/documents", event)
            if status == 202:
                return
            if status not in (429, 503):
                sys.exit(f"not accepted: {status} {answer}")
            time.sleep(0.2)

    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done, _ in enumerate(pool.map(one, range(arguments.letters)), 1):
            if done % 5000 == 0:
                print(f"{done} published in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def await_end(server, letters):
    """Waits until nothing is under way and so many are dead."""
    while True:
        proof = server.ask("POST", "/v1/documents/reconcile", {})[1]
        if proof["dead"] == letters and proof["waiting_records"] == 0:
            return
        time.sleep(1)


def measure(server, name, method, paths):
    seconds, before = [], server.memory()
    server.forget_peak()
    for path in paths:
        begun = time.monotonic()
        status, answer = server.ask(method, path)
        seconds.append(time.monotonic() - begun)
        if status >= 300:
            sys.exit(f"{method} {path}: {status} {answer}")
    rise = max(0, server.memory("VmHWM") - before)
    print(f"| {name} | {statistics.median(seconds) * 1000:.1f} ms | {max(seconds) * 1000:.1f} ms | {rise:.0f} MB |", flush=True)
    return answer


def look(server, arguments):
    print("| | median | slowest | memory above before |\n|---|---|---|---|")
    list_path = "/v1/dead-letters?limit=100"
    letters = measure(server, "list the newest 100", "GET", [list_path] * arguments.times)["dead_letters"]
    ids = [letter["id"] for letter in letters]
    measure(server, "show one", "GET", [f"/v1/dead-letters/{id}" for id in ids[: arguments.times]])
    measure(server, "replay one", "POST", [f"/v1/dead-letters/{id}/replay" for id in ids[: arguments.times]])
    measure(server, "drop one", "DELETE", [f"/v1/dead-letters/{id}" for id in ids[arguments.times : 2 * arguments.times]])


def run(arguments, folder):
    server = Server(arguments.tributary, folder, SETTINGS)
    try:
        print(f"memory at rest: {server.memory():.0f} MB")
        publish(server, arguments)
        await_end(server, arguments.letters)
        print(f"memory with {arguments.letters} dead letters: {server.memory():.0f} MB")
        look(server, arguments)
        server.process.kill()
        server.process.wait()
        begun = time.monotonic()
        server = Server(arguments.tributary, folder, SETTINGS)
        print(f"ready after kill -9: {time.monotonic() - begun:.2f} s, memory {server.memory():.0f} MB, at most {server.memory('VmHWM'):.0f} MB")
        # What was replayed fails again.
        await_end(server, arguments.letters)
        measure(server, "drop all", "DELETE", ["/v1/dead-letters"])
        left = server.ask("GET", "/v1/dead-letters?limit=1")[1]["dead_letters"]
        if left:
            sys.exit(f"letters are left: {left}")
    finally:
        server.end()


def main():
    parser = arguments(
        __doc__,
        ("letters", 100_000, "dead letters"),
        ("bytes", 1_000_000, "bytes of each"),
        ("distinct", 100, "different contents among them"),
        ("times", 20, "requests of each kind"),
    )
    asked = parser.parse_args()
    with folder_of(asked.folder) as folder:
        run(asked, folder)


main()
