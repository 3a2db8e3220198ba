#!/usr/bin/env python3
"""Big tables through `tributary convert` and through the service: wall time, CPU and memory. Only the standard library is used.

    big_files.py make DIR                             # writes rows.csv, unpacked.xlsx and packed.xlsx, always the same bytes
    big_files.py run DIR --tributary target/release/tributary [--raised] [--only rows.csv] [--ways convert,service]

rows.csv       1 000 000 rows of six columns, 49 MB
unpacked.xlsx  the same rows as a workbook whose sheet has 303 MB of XML, 23 MB packed
packed.xlsx    1 000 000 rows of five texts that hardly compress, 331 MB packed

`run` samples the resident memory of the program and of all its children every 20 ms and reports the largest sum. Shared pages count in
each process that maps them. `--raised` raises the limits that refuse packed.xlsx. The service embeds by hashing, so the figures are those of
conversion, chunking and indexing.
"""
import argparse
import base64
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

ROWS = 1_000_000
SITES = ["海淀东区", "Harbour North", "浦东三号", "Old Mill", "天河城", "Ridge 7", "西湖", "Airport West"]
RAISED = {
    "CONVERT__MAXIMUM_BODY_BYTES": 1 << 29,
    "CONVERT__CONVERSION_TIMEOUT_MS": 900_000,
    "CONVERT__MAXIMUM_UNPACKED_BYTES": 1 << 31,
    "INGEST__TABLES__MAXIMUM_DATABASE_BYTES": 1 << 30,
    "CONVERT__MAXIMUM_EMBEDDED_BYTES": 1 << 30,
    "CONVERT__CONVERSION_MEMORY_BYTES": 1 << 32,
    "QUERY_API__SERVER__DOCUMENT_LIMIT_BYTES": 1 << 30,
}
CONTENT_TYPES = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>
</Types>"""
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="{OFFICE}/%s" Target="%s"/></Relationships>"""
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
WORKBOOK = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="Measurements" sheetId="1" r:id="rId1"/></sheets></workbook>"""


def measurements():
    """The rows of rows.csv and unpacked.xlsx."""
    chance = random.Random(1)
    for number in range(1, ROWS + 1):
        site = SITES[number % len(SITES)]
        day = f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}"
        yield [f"{number}", day, f"{site} {number % 977}", f"{chance.randrange(-1200, -400) / 10}", f"{chance.randrange(10**6)}", "ok" if number % 7 else "alarm"]


def write_csv(path):
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.write("number,day,site,level dBm,bytes,state\n")
        for row in measurements():
            out.write(",".join(row) + "\n")


def write_workbook(path, rows, level):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as package:
        package.writestr("[Content_Types].xml", CONTENT_TYPES)
        package.writestr("_rels/.rels", RELATIONS % ("officeDocument", "xl/workbook.xml"))
        package.writestr("xl/workbook.xml", WORKBOOK)
        package.writestr("xl/_rels/workbook.xml.rels", RELATIONS % ("worksheet", "worksheets/sheet1.xml"))
        with package.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
            sheet.write(f'<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="{MAIN}"><sheetData>'.encode())
            for number, cells in enumerate(rows, 1):
                sheet.write(f'<row r="{number}">{"".join(cells)}</row>'.encode())
            sheet.write(b"</sheetData></worksheet>")


def text(cell):
    return f'<c t="inlineStr"><is><t>{cell}</t></is></c>'


def value(cell):
    return f"<c><v>{cell}</v></c>"


def plain_rows():
    yield [text(name) for name in ["number", "day", "site", "level dBm", "bytes", "state", "remark"]]
    for number, day, site, level, count, state in measurements():
        yield [value(number), text(day), text(site), value(level), value(count), text(state), text(f"checked by shift {int(number) % 3}, nothing else to say about it")]


def random_rows():
    chance = random.Random(2)
    yield [text(name) for name in "abcde"]
    for _ in range(ROWS):
        letters = base64.b64encode(chance.randbytes(60 * 5)).decode()
        yield [text(letters[start : start + 80]) for start in range(0, 400, 80)]


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {
        "rows.csv": write_csv,
        "unpacked.xlsx": lambda path: write_workbook(path, plain_rows(), 6),
        "packed.xlsx": lambda path: write_workbook(path, random_rows(), 1),
    }
    for name, write in jobs.items():
        write(folder / name)
        print(name, (folder / name).stat().st_size, "bytes")
        if name.endswith(".xlsx"):
            with zipfile.ZipFile(folder / name) as package:
                print("  unpacked", sum(part.file_size for part in package.infolist()), "bytes")


class Sampler(threading.Thread):
    """Largest resident memory of a process and all below it, and of those below it alone."""

    def __init__(self, root):
        super().__init__(daemon=True)
        self.root, self.largest, self.largest_below, self.over = root, 0, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.02):
            own, below = resident(self.root), sum(resident(child) for child in children(self.root))
            self.largest, self.largest_below = max(self.largest, own + below), max(self.largest_below, below)


def resident(process):
    try:
        fields = pathlib.Path(f"/proc/{process}/statm").read_text().split()
        return int(fields[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def children(process):
    found = []
    try:
        for task in pathlib.Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *children(int(child))]
    except OSError:
        pass
    return found


def cpu_seconds(process):
    """CPU of a process and of its children, alive or ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0
    for one in [process, *children(process)]:
        try:
            fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            total += sum(map(int, fields[11:15])) if one == process else sum(map(int, fields[11:13]))
        except OSError:
            pass
    return total / ticks


def sampled(process):
    sampler = Sampler(process.pid)
    sampler.start()
    return sampler


def report(way, name, wall, cpu, sampler, what):
    print(f"{way:8} {name:14} wall {wall:6.1f} s  cpu {cpu:6.1f} s  memory {sampler.largest / 1e6:5.0f} MB "
          f"(conversion process {sampler.largest_below / 1e6:.0f})  {what}", flush=True)


def convert(arguments, path, environment):
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([arguments.tributary, "convert", path], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sampler = sampled(process)
    markdown, said = process.communicate()
    sampler.over.set()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    what = f"{len(markdown)} bytes of Markdown" if process.returncode == 0 else said.decode().strip()
    report("convert", path.name, time.monotonic() - started, cpu, sampler, what)


def service(arguments, path, environment):
    with tempfile.TemporaryDirectory() as data:
        environment = environment | {"TRIBUTARY_DATA_DIR": data}
        server = subprocess.Popen([arguments.tributary, "run", "--listen", "127.0.0.1:0"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        server.stdout.readline()
        sampler, started, before = sampled(server), time.monotonic(), cpu_seconds(server.pid)
        publish = [arguments.tributary, "publish", path, "--wait", "--format", "json", "--timeout", "1800"]
        published = subprocess.run(publish, env=environment, capture_output=True, text=True)
        wall, cpu = time.monotonic() - started, cpu_seconds(server.pid) - before
        sampler.over.set()
        server.send_signal(signal.SIGTERM)
        server.wait()
    try:
        document = json.loads(published.stdout)["documents"][0]
        what = f"{document['state']} {document['reason'] or ''}"
    except (ValueError, LookupError):
        what = published.stderr.strip()
    report("service", path.name, wall, cpu, sampler, what)


def run(arguments):
    environment = {name: text for name, text in os.environ.items() if not name.startswith("TRIBUTARY__")}
    environment |= {"TRIBUTARY__MODELS__KIND": "hashing"}
    if arguments.raised:
        environment |= {f"TRIBUTARY__{key}": str(limit) for key, limit in RAISED.items()}
    ways = {"convert": convert, "service": service}
    for path in sorted(arguments.folder.iterdir()):
        if arguments.only in (None, path.name):
            for way in arguments.ways.split(","):
                ways[way](arguments, path, environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["make", "run"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tributary", default="target/release/tributary")
    parser.add_argument("--raised", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--ways", default="convert,service")
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.absolute()
    arguments.tributary = str(pathlib.Path(arguments.tributary).absolute())
    return make(arguments.folder) if arguments.verb == "make" else run(arguments)


if __name__ == "__main__":
    sys.exit(main())
