#!/usr/bin/env python3
"""CPU per document of a warm converter: Tributary's conversion process beside kreuzberg and markitdown, file by file in one run.

    python3 -m venv peers && peers/bin/pip install kreuzberg 'markitdown[docx,pptx,xlsx,xls,pdf,outlook]'
    peers/bin/python cpu.py FOLDER --tributary target/release/tributary [--out results.jsonl]

Each converter is one process that lives through the whole run: `tributary convert-worker` as the service starts it, spoken to in its own protocol
(`convert/src/isolation/protocol.rs`), and this script itself with each peer imported. All formats are converted once before anything is counted.
Then every file goes through each converter `--rounds` times, and the CPU that the process and its children used meanwhile (/proc/PID/stat, ended children
included) is read before and after; the median of the rounds counts. Short conversions are repeated until 100 ms are used, as the clock of processes
ticks in 10 ms; one that takes half a second is measured once. OCR is off. A file that one of a pair does not convert is left out of that pair and counted. Linux only.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import tomllib

FORMATS = ["docx", "doc", "pptx", "xlsx", "csv", "html", "pdf"]
TICK = os.sysconf("SC_CLK_TCK")
LEAST_SECONDS = 0.1
MOST_REPETITIONS = 1000
ENOUGH_SECONDS = 0.5


def cpu_of(process):
    """CPU seconds of a process and of its ended children."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / TICK


class Tributary:
    """The conversion process of the service."""

    name = "tributary"

    def __init__(self, program):
        settings = subprocess.run([program, "config", "show"], capture_output=True, text=True, check=True).stdout
        self.config = tomllib.loads(settings)["ingest"]
        library = os.environ.get("TRIBUTARY_PDFIUM", "")
        self.config["pdf"]["library"] = library
        self.readable = [library] if library else []
        self.program, self.scratch = program, tempfile.mkdtemp()
        self.start()

    def start(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([self.program, "convert-worker"], env={"TMPDIR": self.scratch}, cwd=self.scratch, **pipes)
        nobody_reads = {"Err": {"reason": "pictures are left unread here"}}
        self.send({"config": self.config, "ocr": nobody_reads, "draws_slides": False, "scratch": self.scratch, "readable": self.readable})

    def send(self, head, body=b""):
        head = json.dumps(head).encode()
        self.process.stdin.write(struct.pack("<I", len(head)) + head + body)
        self.process.stdin.flush()

    def convert(self, path):
        body = path.read_bytes()
        self.send({"name": path.name, "media_type": None, "body_bytes": len(body)}, body)
        length = self.process.stdout.read(4)
        if len(length) < 4:
            self.process.wait()
            self.start()
            raise RuntimeError("the conversion process ended")
        answer = json.loads(self.process.stdout.read(*struct.unpack("<I", length)))
        if "Failed" in answer:
            raise RuntimeError(answer["Failed"]["message"])
        markdown = self.process.stdout.read(answer["Done"]["markdown_bytes"])
        for _, _, size in answer["Done"]["files"]:
            self.process.stdout.read(size)
        return markdown.decode()


PEER = """
import importlib, io, json, logging, os, sys, warnings
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
answers = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
{prepare}
for line in sys.stdin:
    try:
        answer = {{"text": {convert}}}
    except BaseException as error:
        answer = {{"error": f"{{type(error).__name__}}: {{error}}"}}
    answers.write(json.dumps(answer) + "\\n"); answers.flush()
"""


class Peer:
    """A Python converter in a process of its own."""

    def __init__(self, name, prepare, convert):
        self.name, self.script = name, PEER.format(prepare=prepare, convert=convert)
        self.start()

    def start(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        self.process = subprocess.Popen([sys.executable, "-c", self.script], **pipes)

    def convert(self, path):
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.start()
            raise RuntimeError("the process ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["text"]


def kreuzberg():
    prepare = "import kreuzberg\nconfig = kreuzberg.ExtractionConfig(use_cache=False, disable_ocr=True, output_format='markdown')"
    return Peer("kreuzberg", prepare, "kreuzberg.extract_file_sync(line.strip(), config=config).content")


def markitdown():
    return Peer("markitdown", "from markitdown import MarkItDown\nconverter = MarkItDown()", "converter.convert(line.strip()).text_content")


def measure(converter, path, rounds):
    """CPU seconds of one conversion; an error for a file that is not converted or becomes nothing."""
    before = cpu_of(converter.process.pid)
    try:
        text = converter.convert(path)
    except (RuntimeError, ValueError, OSError) as error:
        return None, str(error)[:200] or type(error).__name__
    if not text.strip():
        return None, "no text"
    first = cpu_of(converter.process.pid) - before
    if first >= ENOUGH_SECONDS:
        return first, None
    return statistics.median(one_round(converter, path) for _ in range(rounds)), None


def one_round(converter, path):
    before = cpu_of(converter.process.pid)
    for count in range(1, MOST_REPETITIONS + 1):
        converter.convert(path)
        used = cpu_of(converter.process.pid) - before
        if used >= LEAST_SECONDS:
            break
    return max(used, 0.5 / TICK) / count


def files(folder, formats):
    found = []
    for path in sorted(folder.rglob("*")):
        kind = path.parent.name
        if path.is_file() and kind in formats:
            found.append((kind, path))
    return found


def report(results, names):
    ours, *peers = names
    for peer in peers:
        groups, left_out = collections.defaultdict(list), collections.Counter()
        for result in results:
            pair = result["cpu"].get(ours), result["cpu"].get(peer)
            if None in pair:
                left_out["both" if pair == (None, None) else ours if pair[0] is None else peer] += 1
                continue
            for group in (result["format"], "all"):
                groups[group].append(pair)
        print(f"\n{ours} and {peer}; not converted by {dict(left_out)}")
        print(f"{'format':7} {'files':>5} {ours + ' ms':>13} {peer + ' ms':>14} {'ratio of medians':>17} {'median of ratios':>17} {'ratio of sums':>14}")
        for group in [*FORMATS, "all"]:
            if pairs := groups.get(group):
                own, other = statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)
                ratios = statistics.median(pair[1] / pair[0] for pair in pairs)
                sums = sum(pair[1] for pair in pairs) / sum(pair[0] for pair in pairs)
                print(f"{group:7} {len(pairs):5} {own * 1e3:13.2f} {other * 1e3:14.2f} {other / own:17.1f} {ratios:17.1f} {sums:14.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="a folder with one folder of files for each format")
    parser.add_argument("--tributary", default="target/release/tributary")
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    converters = [Tributary(str(pathlib.Path(arguments.tributary).absolute())), kreuzberg(), markitdown()]
    found = files(arguments.folder.absolute(), arguments.formats.split(","))
    for kind in dict.fromkeys(kind for kind, _ in found):
        for converter in converters:
            with contextlib.suppress(RuntimeError):
                converter.convert(next(path for other, path in found if other == kind))
    results = []
    for kind, path in found:
        result = {"file": f"{kind}/{path.name}", "format": kind, "cpu": {}, "error": {}}
        for converter in converters:
            cpu, error = measure(converter, path, arguments.rounds)
            result["cpu"][converter.name] = cpu
            if error:
                result["error"][converter.name] = error
        results.append(result)
        print(json.dumps(result, ensure_ascii=False), file=sys.stderr, flush=True)
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(result, ensure_ascii=False) + "\n" for result in results))
    report(results, [converter.name for converter in converters])


if __name__ == "__main__":
    sys.exit(main())
