#!/usr/bin/env python3
"""What a real language model makes of real sections: summaries that are valid, in the language of their section and within the limit, or the lesser way.

    deploy/services/chat start --model 0.5b
    eval/workloads/real_summaries/run.py --url http://127.0.0.1:8080/v1 --files FOLDER --sections 30

Publishes Markdown and reStructuredText files of `--files`, in turns of both languages, until `--sections` sections are too long for a chunk and want a
summary. Then looks at each: whether the model wrote it or sentences of the section stand for it, whether it is Chinese where its section is, and how
many characters it has. A document whose summaries are not all a model's must be marked; the exit status says so. Python 3.11 and Linux are enough.
"""
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of
from sets import is_chinese

WAIT_SECONDS = 3600


def settings(asked):
    limit = str(WAIT_SECONDS * 1000)
    return {
        "TELEMETRY__FILTER": "warn",
        "MODELS__KIND": "hashing",
        "CONVERT__REQUIRE_CONFINEMENT": "false",
        "MODELS__CHAT__ENDPOINT__URL": asked.url,
        "MODELS__CHAT__ENDPOINT__MODEL": "local",
        "MODELS__CHAT__ENDPOINT__PARALLEL": "2",
        "MODELS__CHAT__ENDPOINT__CONTEXT_TOKENS": str(asked.context),
        "MODELS__CHAT__ENDPOINT__FIRST_PIECE_TIMEOUT_MS": limit,
        "MODELS__CHAT__ENDPOINT__PIECE_TIMEOUT_MS": limit,
        "MODELS__CHAT__ENDPOINT__TIMEOUT_MS": limit,
        "MODELS__CHAT__ROLES__SUMMARIZE__ENDPOINT": "default",
    }


def files(folder):
    """Those that may have long sections, in turns of both languages."""
    texts = [(path, path.read_text(encoding="utf-8", errors="replace")) for path in sorted(folder.rglob("*")) if path.suffix in (".md", ".rst")]
    long = [(path, text) for path, text in texts if len(text.encode()) > 9000]
    chinese, others = [], []
    for path, text in long:
        (chinese if is_chinese(text) else others).append((path, text))
    turns = [file for pair in zip(chinese, others) for file in pair]
    return turns + chinese[len(others) :] + others[len(chinese) :]


def published(server, asked):
    """Ids of documents, one at a time, until they have sections enough."""
    documents, sections = [], 0
    for path, text in files(asked.files):
        event = {"source": "pages", "source_path": str(path.relative_to(asked.files)), "content": text}
        status, answer = server.ask("POST", "/v1/documents", event)
        if status != 202:
            sys.exit(f"not accepted: {status} {answer}")
        found, is_marked = ended(server, answer["document_id"])
        if found:
            documents.append((found, is_marked))
            sections += len(found)
            print(f"{sections} of {asked.sections}: {path.name}", file=sys.stderr, flush=True)
        if sections >= asked.sections:
            break
    return documents


def ended(server, document_id):
    """The summaries of a document, each with the text that it stands for, and whether the document is marked for one."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        status, document = server.ask("GET", f"/v1/documents/{document_id}")
        if status == 200 and document["state"] in ("indexed", "dead", "skipped"):
            return summaries(server, document), "summary" in document["lineage"].get("degraded", [])
        time.sleep(0.5)
    sys.exit(f"{document_id} has not ended in {WAIT_SECONDS} s")


def summaries(server, document):
    """By a search that finds whatever the document has."""
    request = {"query": document["title"], "top_k": 80, "filter": {"document_ids": [document["document_id"]]}, "unfold": True}
    status, answer = server.ask("POST", "/v1/search", request)
    if status != 200:
        sys.exit(f"{request}: {status} {answer}")
    below = lambda path: " ".join(hit["text"] for hit in answer["hits"] if hit["kind"] != "summary" and hit["section_path"][: len(path)] == path)
    return [(hit["text"], below(hit["section_path"])) for hit in answer["hits"] if hit["kind"] == "summary"]


def by_source(server):
    _, metrics = server.ask("GET", "/metrics")
    found = re.findall(r'tributary_summaries_total\{[^}]*"(\w+)"[^}]*\} (\d+)', metrics.decode())
    return {name: int(count) for name, count in found}


def main():
    wanted = arguments(__doc__, ("sections", 30, "sections that want a summary"), ("context", 4096, "tokens that the model can see"))
    wanted.add_argument("--url", required=True, help="of a server that speaks OpenAI's interface")
    wanted.add_argument("--files", type=pathlib.Path, required=True, help="folder of Markdown and reStructuredText files")
    asked = wanted.parse_args()
    with folder_of(asked.folder) as folder:
        server = Server(asked.tributary, folder, settings(asked))
        begun = time.monotonic()
        documents = published(server, asked)
        took = time.monotonic() - begun
        counted = by_source(server)
        server.end()
    all_of_them = [summary for found, _ in documents for summary in found]
    language = sum(is_chinese(text) == is_chinese(section) for text, section in all_of_them)
    lengths = sorted(len(text) for text, _ in all_of_them)
    marked = sum(is_marked for _, is_marked in documents)
    print(f"{len(all_of_them)} summaries of {len(documents)} documents in {took:.0f} s, by where they come from: {counted}")
    print(f"in the language of their section: {language}; characters: median {lengths[len(lengths) // 2]}, at most {lengths[-1]}; documents that are marked: {marked}")
    sys.exit(1 if counted.get("extractive") and not marked else 0)


if __name__ == "__main__":
    main()
