#!/usr/bin/env python3
"""Functions of C that the chunker for source code finds, against those that Universal Ctags finds.

    eval/workloads/code_functions/run.py --tributary target/release/tributary linux/kernel linux/mm

Cuts every `.c` file of each folder with `tributary chunk --chunker code` and asks `ctags` for its functions. A function is found if a chunk of a
definition has its name and its line. Where ctags names a macro that defines a function (`SYSCALL_DEFINE3` of `SYSCALL_DEFINE3(read, ...)`), the chunk
is named by the first argument: then the line counts and that the signature begins with the macro. Says for each folder how many there are, how
many are found, and the share, and writes up to `--missing` of those that are not. `--least 0.995` makes a lower share a failure. Python 3.11,
Universal Ctags and Linux are enough.
"""
import argparse
import bisect
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys


def functions_of(files):
    """What ctags finds: path -> [(name, line)]."""
    found = collections.defaultdict(list)
    command = ["ctags", "--output-format=json", "--fields=+n", "--languages=C", "--kinds-C=f", "-f", "-", "-L", "-"]
    listed = subprocess.run(command, input="\n".join(map(str, files)), capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        tag = json.loads(line)
        found[tag["path"]].append((tag["name"], tag["line"]))
    return found


def definitions_of(tributary, file):
    """What the chunker finds: [(first line, last line, name, signature)], by line."""
    command = [tributary, "chunk", str(file), "--chunker", "code", "--format", "json"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    codes = (chunk["code"] for chunk in json.loads(listed.stdout)["chunks"])
    found = [(code["start_line"], code["end_line"], code["name"], code.get("signature", "")) for code in codes if code and code["definition"] != "file"]
    return sorted(found)


def is_found(name, line, definitions):
    """Whether one of the definitions around a line has this name."""
    before = bisect.bisect_right(definitions, (line, float("inf")))
    for first, last, own, signature in reversed(definitions[max(0, before - 8) : before]):
        if last >= line and (own.split("::")[-1] == name or name.isupper() and name + "(" in signature.replace(" (", "(")):
            return True
    return False


def measure(tributary, folder, most_missing):
    files = sorted(pathlib.Path(folder).rglob("*.c"))
    expected = functions_of(files)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(map(str, files), pool.map(lambda file: definitions_of(tributary, file), files)))
    total, missing = 0, []
    for path, functions in sorted(expected.items()):
        total += len(functions)
        missing += [f"{path}:{line} {name}" for name, line in functions if not is_found(name, line, found[path])]
    for line in missing[:most_missing]:
        print(f"  not found: {line}")
    share = (total - len(missing)) / max(total, 1)
    print(f"{folder}: {len(files)} files, {total} functions, {total - len(missing)} found, {share:.4f}")
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tributary", default="target/release/tributary")
    parser.add_argument("--missing", type=int, default=20)
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("folders", nargs="+")
    wanted = parser.parse_args()
    shares = [measure(wanted.tributary, folder, wanted.missing) for folder in wanted.folders]
    return int(min(shares) < wanted.least)


if __name__ == "__main__":
    sys.exit(main())
