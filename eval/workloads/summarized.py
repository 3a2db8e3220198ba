"""Documents whose sections need summaries, and a chat server that writes some, for the workloads beside this file."""
import contextlib
import http.server
import json
import sys
import threading
import time

# Documents whose states are asked for in one request.
AT_ONCE = 500
SENTENCE = "The relay hands the carrier over to the next cell before the signal fades. "


def model(seconds, port=0):
    """A chat server that replies with a summary after so many seconds; `calls` of it counts the replies."""

    class Model(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            time.sleep(seconds)
            self.server.calls += 1
            text = json.dumps({"summary": f"What section {self.server.calls} says of the relay."})
            pieces = [{"choices": [{"index": 0, "delta": {"content": text}}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
            body = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
            # The server may be gone by now.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Model)
    server.calls = 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def settings(port, parallel):
    """For a server whose model is at this port."""
    return {
        "TELEMETRY__FILTER": "warn",
        "MODELS__KIND": "hashing",
        "MODELS__CHAT__ENDPOINT__URL": f"http://127.0.0.1:{port}/v1",
        "MODELS__CHAT__ENDPOINT__MODEL": "scripted",
        "MODELS__CHAT__ENDPOINT__PARALLEL": str(parallel),
    }


def long_document(number):
    """Sections over 2000 tokens that need three summaries: one, and two in it."""
    parts = [f"# Manual {number}\n\nOf relays.\n"]
    for part in range(2):
        sections = "\n\n".join(f"### Section {part}.{at}\n\nNumber {number}. {SENTENCE * 70}" for at in range(2))
        parts.append(f"## Part {part}\n\n{sections}\n")
    return "\n".join(parts)


def small_document(number):
    """None is needed."""
    return f"# Small {number}\n\nNumber {number}. {SENTENCE * 4}\n"


def publish(server, document, content):
    body = {"source": "waits", "document_id": document, "content": content, "media_type": "text/markdown"}
    status, answer = server.ask("POST", "/v1/documents", body)
    if status != 202:
        sys.exit(f"not accepted: {status} {answer}")


def states(server, documents):
    """States of documents, by their ids."""
    found = {}
    for start in range(0, len(documents), AT_ONCE):
        asked = {"document_ids": documents[start : start + AT_ONCE]}
        answer = server.ask("POST", "/v1/documents/states", asked)[1]["documents"]
        found |= {state["document_id"]: state for state in filter(None, answer)}
    return found


def open_ones(server, documents):
    """Those that are not there yet."""
    found = states(server, documents)
    return [one for one in documents if one not in found or found[one]["state"] not in ("indexed", "dead")]
