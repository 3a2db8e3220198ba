#!/usr/bin/env python3
"""What asking costs beside searching and the language model, and what many answers at once do.

    eval/workloads/ask_load/run.py --tributary target/release/tributary

1. Time to the first event of an answer, and to its first text less a search and the model's own first piece, asked for in turn.
2. `--streams` answers at once of a model that writes 20 tokens a second: what was dropped, the longest silence of a stream, memory of the server,
   and the time of searches beside them against searches at rest.
3. Time from a client that closes its connection until the connection to the model is closed.

The model is a server of this script's for 1 and 3, and the product's scripted one for 2. Embeddings are hashed. Python 3.11 and Linux are enough.
"""
import asyncio
import json
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of

SUBJECTS = ["relay", "carrier", "antenna", "beacon", "timer", "gateway", "turbine", "valve", "filter", "crane"]
PLACES = ["north", "south", "east", "west", "harbour", "ridge", "valley", "tower", "depot", "station"]
TOKENS_PER_SECOND = 20
TOKENS = 200
# Of a scripted piece: about a token.
PIECE_CHARACTERS = 4
TOP_K = 8


def question(number):
    return f"How is the {SUBJECTS[number % 10]} of the {PLACES[number // 10 % 10]} calibrated?"


def documents():
    for number in range(100):
        subject, place = SUBJECTS[number % 10], PLACES[number // 10 % 10]
        sentence = f"The {subject} of the {place} is calibrated with gauge {number} before each shift. "
        yield f"d{number}", f"# The {subject} of the {place}\n\n{sentence * 3}It was installed by crew {number} and is inspected twice a year.\n"


def publish(server):
    names = []
    for name, text in documents():
        event = {"source": "load", "document_id": name, "content": text, "media_type": "text/markdown"}
        status, answer = server.ask("POST", "/v1/documents", event)
        if status != 202:
            sys.exit(f"not accepted: {status} {answer}")
        names.append(name)
    while True:
        states = server.ask("POST", "/v1/documents/states", {"document_ids": names})[1]["documents"]
        if all(state and state["state"] == "indexed" for state in states):
            return
        time.sleep(0.1)


async def request(address, path, body, accept="text/event-stream"):
    """An open answer, behind its headers."""
    reader, writer = await asyncio.open_connection(*address, limit=1 << 22)
    text = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nContent-Type: application/json\r\nAccept: {accept}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + text)
    await writer.drain()
    status = (await reader.readline()).split()
    while (await reader.readline()).strip():
        pass
    if status[1] != b"200":
        raise RuntimeError(f"{path}: {status}: {(await reader.read())[:300]}")
    return reader, writer


async def events(reader):
    """Names of events as they come."""
    while line := await reader.readline():
        if line.startswith(b"event: "):
            yield line[7:].strip().decode()


class Model:
    """OpenAI's interface: pieces at a steady rate, and when clients leave."""

    def __init__(self):
        self.left = asyncio.Queue()
        self.begun = asyncio.Queue()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.address = self.server.sockets[0].getsockname()

    async def serve(self, reader, writer):
        while True:
            length = 0
            line = await reader.readline()
            if not line:
                return writer.close()
            while (line := await reader.readline()).strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            await reader.readexactly(length)
            if not await self.reply(reader, writer):
                return writer.close()

    async def reply(self, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        gone = asyncio.ensure_future(reader.read(1))
        for number in range(TOKENS):
            self.write(writer, {"choices": [{"index": 0, "delta": {"content": "gauge " if number else "The gauge [1] "}}]})
            if not number:
                await self.begun.put(time.monotonic())
            done, _ = await asyncio.wait([gone], timeout=1 / TOKENS_PER_SECOND)
            if done:
                await self.left.put(time.monotonic())
                return False
        self.write(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        writer.write(self.chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()
        gone.cancel()
        return True

    def write(self, writer, piece):
        writer.write(self.chunk(f"data: {json.dumps(piece)}\n\n".encode()))

    @staticmethod
    def chunk(data):
        return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def timed(work):
    begun = time.monotonic()
    await work
    return (time.monotonic() - begun) * 1000


async def search(address, number):
    reader, writer = await request(address, "/v1/search", {"query": question(number), "top_k": TOP_K, "neighbours": 1}, "application/json")
    await reader.read()
    writer.close()


async def bare(model):
    """The first piece of the model without anything else."""
    body = {"model": "steady", "stream": True, "messages": [{"role": "user", "content": "?"}]}
    reader, writer = await request(model.address, "/v1/chat/completions", body)
    while not (await reader.readline()).startswith(b"data: "):
        pass
    writer.close()


async def first_times(address, number):
    """Milliseconds until the first event and until the first text."""
    begun = time.monotonic()
    reader, writer = await request(address, "/v1/ask", {"question": question(number)})
    first = None
    async for name in events(reader):
        first = first or (time.monotonic() - begun) * 1000
        if name == "answer_chunk":
            break
        if name in ("done", "error"):
            raise RuntimeError(f"no text came: {name}")
    writer.close()
    return first, (time.monotonic() - begun) * 1000


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def measure_first(server, model, rounds):
    firsts, overheads = [], []
    for number in range(rounds):
        searched = await timed(search(server.address, number))
        alone = await timed(bare(model))
        first, text = await first_times(server.address, number)
        firsts.append(first)
        overheads.append(text - searched - alone)
    print(f"first event: median {statistics.median(firsts):.1f} ms, p95 {percentile(firsts, 0.95):.1f} ms, {rounds} questions (target 50)")
    print(f"first text less search and model: median {statistics.median(overheads):.1f} ms, p95 {percentile(overheads, 0.95):.1f} ms (target 30)", flush=True)


async def measure_leaving(server, model, rounds):
    taken = []
    while not model.begun.empty():
        model.begun.get_nowait()
    # Those who asked for the first text alone are gone too.
    await asyncio.sleep(1)
    while not model.left.empty():
        model.left.get_nowait()
    for number in range(rounds):
        reader, writer = await request(server.address, "/v1/ask", {"question": question(number)})
        async for name in events(reader):
            if name == "answer_chunk":
                break
        left = time.monotonic()
        writer.transport.abort() if number % 2 else writer.close()
        taken.append((await asyncio.wait_for(model.left.get(), 10) - left) * 1000)
    print(f"client gone until the model's connection is closed: median {statistics.median(taken):.0f} ms, longest {max(taken):.0f} ms of {rounds} (target 200)", flush=True)


async def one_stream(address, number):
    """Whether it came to its end, and its longest silence behind the first event, in seconds."""
    begun = last = time.monotonic()
    longest, pieces, ended = 0.0, 0, False
    reader, writer = await request(address, "/v1/ask", {"question": question(number)})
    async for name in events(reader):
        now = time.monotonic()
        longest, last = max(longest, now - last if pieces else 0.0), now
        pieces += name == "answer_chunk"
        ended = name == "done"
    writer.close()
    return ended, longest, pieces, time.monotonic() - begun


async def searches(address, count, until=None):
    taken = []
    while len(taken) < count or (until and not until.done()):
        taken.append(await timed(search(address, len(taken))))
        await asyncio.sleep(0.02)
    return taken


def cpu_seconds(server):
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure_streams(server, streams):
    await searches(server.address, 50)
    at_rest = await searches(server.address, 200)
    server.forget_peak()
    used = cpu_seconds(server)
    running = asyncio.gather(*(one_stream(server.address, number) for number in range(streams)))
    await asyncio.sleep(2)
    beside = await searches(server.address, 0, running)
    answers = await running
    used = cpu_seconds(server) - used
    ended = sum(answer[0] for answer in answers)
    stalled = sum(answer[1] > 1 for answer in answers)
    print(f"{streams} streams: {streams - ended} dropped, {stalled} silent for more than 1 s, longest silence {max(answer[1] for answer in answers):.2f} s")
    print(f"  {sum(answer[2] for answer in answers)} pieces, {max(answer[3] for answer in answers):.1f} s, {used:.1f} s CPU of the server; memory at most {server.memory('VmHWM'):.0f} MB (target 300)")
    rest, loaded = percentile(at_rest, 0.95), percentile(beside, 0.95)
    print(f"  search p95 {rest:.1f} ms at rest, {loaded:.1f} ms beside them: {loaded / rest:.2f} times (target 3); {len(beside)} searches", flush=True)


def settings(extra):
    return {"TELEMETRY__FILTER": "warn", "MODELS__KIND": "hashing", "QUERY_API__ASK__QUESTIONS_AT_ONCE": "1000", **extra}


def endpoint(**values):
    named = {f"MODELS__CHAT__ENDPOINTS__STEADY__{name.upper()}": str(value) for name, value in values.items()}
    return {**named, "MODELS__CHAT__ROLES__ANSWER__ENDPOINT": "steady"}


async def with_server(asked, extra, work):
    with folder_of(None) as folder:
        server = Server(asked.tributary, folder, settings(extra))
        try:
            await asyncio.to_thread(publish, server)
            await work(server)
        finally:
            server.end()


async def measure(asked):
    model = Model()
    await model.start()
    url = f"http://{model.address[0]}:{model.address[1]}/v1"

    async def alone(server):
        await measure_first(server, model, 5)
        print("warm:")
        await measure_first(server, model, asked.rounds)
        await measure_leaving(server, model, asked.rounds)

    await with_server(asked, endpoint(url=url, model="steady", parallel=64), alone)
    with folder_of(None) as folder:
        script = folder / "script.json"
        entry = {"prompt": "answer", "reply": "gau " * TOKENS, "piece_characters": PIECE_CHARACTERS, "piece_delay_ms": 1000 // TOKENS_PER_SECOND}
        script.write_text(json.dumps([entry]), encoding="utf-8")
        scripted = endpoint(kind="scripted", model="steady", script_file=script, parallel=asked.streams)
        await with_server(asked, scripted, lambda server: measure_streams(server, asked.streams))


def main():
    parser = arguments(__doc__, ("streams", 200, "answers at once"), ("rounds", 60, "questions one after the other"))
    asyncio.run(measure(parser.parse_args()))


main()
