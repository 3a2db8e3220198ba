"""A server in a folder of its own, for the workloads beside this file."""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading


def arguments(about, *numbers):
    """What was asked for: the program, a folder, and numbers given as (name, default, help)."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tributary", default="target/release/tributary", help="the program")
    for name, default, text in numbers:
        parser.add_argument(f"--{name}", type=int, default=default, help=text)
    parser.add_argument("--folder", type=pathlib.Path, help="where to work; removed afterwards unless it is named")
    return parser


@contextlib.contextmanager
def folder_of(asked):
    """The folder to work in."""
    folder = asked or pathlib.Path(tempfile.mkdtemp(prefix="tributary-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    finally:
        if not asked:
            shutil.rmtree(folder, ignore_errors=True)


class Server:
    """A process in a folder of its own."""

    def __init__(self, program, folder, settings, profile=None):
        self.data = folder / "data"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TRIBUTARY")}
        settings = {f"TRIBUTARY__{name}": value for name, value in settings.items()}
        command = [str(pathlib.Path(program).resolve()), "--data-dir", str(self.data), *(["--profile", str(profile)] if profile else [])]
        command += ["run", "--listen", "127.0.0.1:0"]
        self.log = open(folder / "log", "w", encoding="utf-8")
        self.process = subprocess.Popen(command, env={**clean, **settings}, cwd=folder, stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://([\d.]+):(\d+)", line)
        if not found:
            sys.exit(f"no server: {line!r}; see {folder / 'log'}")
        self.address = (found[1], int(found[2]))
        self.local = threading.local()

    def ask(self, method, path, body=None, key=None, accept="*/*"):
        """Status and body; a connection for each thread. `key` is an API key, or the whole value of the header."""
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection(*self.address, timeout=1000)
        try:
            return self.ask_once(method, path, body, key, accept)
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            # The server closes a connection that was idle for long.
            self.local.connection.close()
            return self.ask_once(method, path, body, key, accept)

    def ask_once(self, method, path, body, key, accept):
        headers = {"content-type": "application/json", "accept": accept}
        if key is not None:
            headers["authorization"] = key if " " in key else f"Bearer {key}"
        self.local.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = self.local.connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text[:1] in (b"{", b"[") else text

    def sizes(self):
        """Memory and what grows with it, then bytes on the disk."""
        threads = str(len(os.listdir(f"/proc/{self.process.pid}/task")))
        memory = [f"{self.memory():.0f} MB", f"{self.memory('VmHWM'):.0f} MB", threads]
        files = str(len(os.listdir(f"/proc/{self.process.pid}/fd")))
        return [*memory, files, *(f"{size(self.data / part) / 1e6:.0f} MB" for part in ["log", "index", "blobs"])]

    def memory(self, name="VmRSS"):
        """Megabytes: what is resident, or at most was (`VmHWM`) since the last `forget_peak`."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{name}:\s+(\d+)", status, re.M)[1]) / 1024

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def end(self):
        self.process.terminate()
        self.process.wait()


def size(folder):
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total
