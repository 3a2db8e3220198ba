#!/usr/bin/env python3
"""A language model that is away for a while, then back: nothing may be lost, given up or held up that needs no model, and one verb repairs it all.

    eval/workloads/away_model/run.py --tributary target/release/tributary --seconds 600

Nothing listens at the model's address for the first half of `--seconds`; what listens there in the second refuses with status 503. All the while one
document that needs summaries and one that needs none are published every few seconds. Then the model is back: more of both are published, and
`documents repair --degraded` runs. Says how long the small ones took to be found while the model was away and once it was back, what became of
the long ones, how many calls the repair cost against summaries that were missing, and fails if a document died, one is missing or one is still
degraded at the end. Python 3.11 and Linux are enough.
"""
import http.server
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of
from summarized import long_document, model, publish, settings, small_document, states

EVERY_SECONDS = 3
LOOK_SECONDS = 0.05
# Longest wait for what was published while the model was away, beyond the patience of the pipeline.
WAIT_SECONDS = 300
SUMMARIES = 3
# Longer than the pause of the circuit, `models.chat.endpoint.circuit_pause_ms`.
BACK_SECONDS = 60


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Refusing(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_error(503)

    def log_message(self, *_):
        pass


def refusing(port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def is_found(state):
    return state is not None and state["state"] == "indexed"


def degraded(server):
    """How many documents were made in a lesser way."""
    return server.ask("GET", "/v1/documents?degraded=true&limit=1")[1]["total"]


class Publisher:
    """Publishes one document of each kind at a time, and measures how long the small ones take."""

    def __init__(self, server):
        self.server, self.long, self.small = server, [], {}

    def one(self):
        number = len(self.long)
        self.long.append(f"long-{number}")
        publish(self.server, self.long[-1], long_document(number))
        small, begun = f"small-{number}", time.monotonic()
        publish(self.server, small, small_document(number))
        while not is_found(states(self.server, [small]).get(small)):
            if time.monotonic() - begun > WAIT_SECONDS:
                sys.exit(f"{small} is not found after {WAIT_SECONDS} s")
            time.sleep(LOOK_SECONDS)
        self.small[small] = time.monotonic() - begun

    def until(self, end):
        while time.monotonic() < end:
            begun = time.monotonic()
            self.one()
            time.sleep(max(0, EVERY_SECONDS - (time.monotonic() - begun)))


def wait_until(is_done, what):
    begun = time.monotonic()
    while not is_done():
        if time.monotonic() - begun > WAIT_SECONDS:
            sys.exit(f"{what} are not there after {WAIT_SECONDS} s")
        time.sleep(1)


def said(seconds):
    values = sorted(seconds)
    return f"median {statistics.median(values):.2f} s, largest {values[-1]:.2f} s of {len(values)}"


def main():
    asked = arguments(__doc__, ("seconds", 600, "how long the model is away")).parse_args()
    port = free_port()
    with folder_of(asked.folder) as folder:
        server = Server(asked.tributary, folder, settings(port, 8))
        publisher = Publisher(server)
        begun = time.monotonic()
        publisher.until(begun + asked.seconds / 2)
        refuses = refusing(port)
        publisher.until(begun + asked.seconds)
        away = list(publisher.small.values())
        print(f"model away for {asked.seconds} s, small documents found: {said(away)}", flush=True)
        everything = lambda: all(map(is_found, (states(server, publisher.long).get(one) for one in publisher.long)))
        wait_until(everything, "long documents without the model")
        print(f"{degraded(server)} of {len(publisher.long)} long ones came without the model, degraded", flush=True)

        refuses.shutdown()
        refuses.server_close()
        back = model(0.2, port)
        count = len(publisher.small)
        publisher.until(time.monotonic() + BACK_SECONDS)
        print(f"model back, small documents found: {said(list(publisher.small.values())[count:])}", flush=True)
        wait_until(everything, "long documents")
        missing = degraded(server)
        print(f"{missing} of {len(publisher.long)} long ones are degraded then", flush=True)
        before = back.calls
        began = time.monotonic()
        verb = [str(pathlib.Path(asked.tributary).resolve()), "documents", "repair", "--degraded", "--format", "json", "--server", "http://%s:%d" % server.address]
        repaired = subprocess.run(verb, cwd=folder, capture_output=True, text=True)
        print(f"documents repair --degraded: exit {repaired.returncode} {json.dumps(json.loads(repaired.stdout or '{}'))} {repaired.stderr.strip()[-200:]}")
        wait_until(lambda: degraded(server) == 0, "repaired documents")
        taken, calls = time.monotonic() - began, back.calls - before
        print(f"0 degraded {taken:.0f} s later, {calls} calls for {missing * SUMMARIES} summaries", flush=True)
        dead = [one for one in [*publisher.long, *publisher.small] if states(server, [one])[one]["state"] == "dead"]
        if dead:
            sys.exit(f"{len(dead)} died: {dead[:5]}")
        server.end()


main()
