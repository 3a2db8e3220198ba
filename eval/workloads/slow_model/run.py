#!/usr/bin/env python3
"""Documents that need no summary while others wait for a slow language model: how much longer they take.

    eval/workloads/slow_model/run.py --tributary target/release/tributary

A chat server of this script's takes two seconds for a reply and eight calls at a time. Publishes `--small` documents to a fresh server and waits
for all of them; then, on another one, `--long` documents whose sections need summaries, and the small ones behind them. Says the throughput of
the small ones in both cases, `--rounds` times in turn, and the ratio of the medians. Embeddings are hashed: what is measured is the waiting.
Python 3.11 and Linux are enough.
"""
import contextlib
import http.server
import json
import pathlib
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of

REPLY_SECONDS = 2
PARALLEL = 8
# Documents whose states are asked for in one request.
AT_ONCE = 500
SENTENCE = "The relay hands the carrier over to the next cell before the signal fades. "


class SlowModel(http.server.BaseHTTPRequestHandler):
    """Replies with a summary, in two seconds."""

    protocol_version = "HTTP/1.1"
    calls = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        time.sleep(REPLY_SECONDS)
        SlowModel.calls += 1
        text = json.dumps({"summary": f"What section {SlowModel.calls} says of the relay."})
        pieces = [{"choices": [{"index": 0, "delta": {"content": text}}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        body = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
        # The server is gone when the small ones are there.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def long_document(number):
    """Three sections over 2000 tokens, one around the others."""
    parts = [f"# Manual {number}\n\nOf relays.\n"]
    for part in range(2):
        sections = "\n\n".join(f"### Section {part}.{at}\n\nNumber {number}. {SENTENCE * 70}" for at in range(2))
        parts.append(f"## Part {part}\n\n{sections}\n")
    return "\n".join(parts)


def publish(server, document, content):
    body = {"source": "waits", "document_id": document, "content": content, "media_type": "text/markdown"}
    status, answer = server.ask("POST", "/v1/documents", body)
    if status != 202:
        sys.exit(f"not accepted: {status} {answer}")


def open_ones(server, documents):
    """Those that are not there yet."""
    found = []
    for start in range(0, len(documents), AT_ONCE):
        asked = {"document_ids": documents[start : start + AT_ONCE]}
        answer = server.ask("POST", "/v1/documents/states", asked)[1]["documents"]
        found += [state["document_id"] for state in filter(None, answer) if state["state"] not in ("indexed", "dead")]
    return found


def throughput(asked, address, long):
    """Small documents a second."""
    settings = {
        "TELEMETRY__FILTER": "warn",
        "MODELS__KIND": "hashing",
        "MODELS__CHAT__ENDPOINT__URL": f"http://{address[0]}:{address[1]}/v1",
        "MODELS__CHAT__ENDPOINT__MODEL": "slow",
        "MODELS__CHAT__ENDPOINT__PARALLEL": str(PARALLEL),
    }
    with folder_of(None) as folder:
        server = Server(asked.tributary, folder, settings)
        try:
            for number in range(long):
                publish(server, f"long-{number}", long_document(number))
            begun = time.monotonic()
            small = [f"small-{number}" for number in range(asked.small)]
            for number, document in enumerate(small):
                publish(server, document, f"# Small {number}\n\nNumber {number}. {SENTENCE * 4}\n")
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
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SlowModel)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    alone, beside = [], []
    for _ in range(asked.rounds):
        alone.append(throughput(asked, model.server_address, 0))
        beside.append(throughput(asked, model.server_address, asked.long))
        print(f"{alone[-1]:.0f} small documents a second alone, {beside[-1]:.0f} beside {asked.long} long ones", flush=True)
    ratio = statistics.median(beside) / statistics.median(alone)
    print(f"median {statistics.median(alone):.0f} and {statistics.median(beside):.0f} a second: {ratio:.2f} times")


main()
