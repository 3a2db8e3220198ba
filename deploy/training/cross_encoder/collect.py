"""Questions and passages to train a cross-encoder on, out of public documentation and abstracts (sources.json).

Writes passages.jsonl {"id", "group", "language", "document", "text"} and queries.jsonl {"text", "positives": [passage ids], "group", "kind"}. Wrong passages are
not chosen here: train.py finds those that look right. A page's description becomes a question whose answer is the page without it; so do a heading
and its section, a title and its abstract, a sentence and the rest of its section. Pages that exist in two languages are asked across both.
"""
import argparse
import json
import random
import re
import subprocess
import sys
from pathlib import Path

PASSAGE_CHARACTERS = {"zh": 700, "en": 1600}
# A description or sentence shorter or longer than this is no question.
QUESTION_CHARACTERS = {"zh": (6, 120), "en": (20, 300)}
# Headings that every page has: they ask for nothing.
COMMON = {"syntax", "parameters", "remarks", "see also", "requirements", "example", "examples", "return value", "inputs", "outputs", "notes", "related links",
          "description", "synopsis", "members", "methods", "properties", "related content", "next steps", "语法", "参数", "备注", "注解", "另请参阅", "请参阅", "要求",
          "示例", "返回值", "成员", "方法", "属性", "说明", "后续步骤", "先决条件", "另请参见", "参考", "总结", "小结", "inheritance hierarchy", "继承层次结构"}
FORMS = {"zh": ["如何{}", "{}是什么", "怎么{}?", "{}", "{}", "{}怎么用", "什么是{}", "请介绍{}"],
         "en": ["how to {}", "what is {}", "{}", "{}", "explain {}", "how does {} work", "{} ?"]}
STOP = set("a an the of for in on with and or to by from is are be as at its that this via using towards toward into we our it can".split())


def main():
    parser = argparse.ArgumentParser(prog="deploy/training/cross_encoder/collect.py", description=__doc__)
    parser.add_argument("--sources", type=Path, default=Path(__file__).with_name("sources.json"), help="list of repositories (sources.json)")
    parser.add_argument("--repositories", type=Path, required=True, help="folder of their clones, OWNER+NAME each; those that miss are cloned into it")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sources = json.loads(options.sources.read_text(encoding="utf-8"))["sources"]
    chance, pairs = random.Random(options.seed), Pairs()
    pages = {}
    for source in sources:
        repository = clone(source, options.repositories)
        files = list(read(repository, source))
        before = len(pairs.queries)
        pages[source["group"]] = READERS[source["kind"]](files, source, pairs, chance)
        print(f"{source['repository']}: {len(files)} files, {len(pairs.queries) - before} questions", file=sys.stderr)
    for source in sources:
        if "translation_of" in source:
            across(pages[source["group"]], pages[source["translation_of"]], source, pairs, chance)
    pairs.write(options.output)


class Pairs:
    """Passages by their text, so that what stands on two pages is one passage, and the questions."""

    def __init__(self):
        self.ids, self.passages, self.queries = {}, [], []

    def passage(self, text, group, language, document):
        key = (group, re.sub(r"\s+", "", text))
        if key not in self.ids:
            self.ids[key] = len(self.passages)
            self.passages.append({"id": len(self.passages), "group": group, "language": language, "document": document, "text": text})
        return self.ids[key]

    def query(self, text, positive, group, kind):
        self.queries.append({"text": text, "positives": [positive], "group": group, "kind": kind})

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        merged = {}
        for query in self.queries:
            known = merged.setdefault((query["group"], query["text"]), query)
            known["positives"] = sorted(set(known["positives"]) | set(query["positives"]))
        # A question that many passages answer asks for none of them.
        kept = [query for query in merged.values() if len(query["positives"]) <= 3]
        for name, lines in (("passages", self.passages), ("queries", kept)):
            with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as out:
                out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        print(f"{len(self.passages)} passages, {len(kept)} questions", file=sys.stderr)


# ---- repositories ------------------------------------------------------------------------------------------------------------------------------

def clone(source, folder):
    target = folder / source["repository"].replace("/", "+")
    for place in (target / "repo" / ".git", target / "repo", target):
        if (place / "HEAD").is_file() or (place / ".git").is_dir():
            return place
    print(f"cloning {source['repository']}", file=sys.stderr)
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", f"https://github.com/{source['repository']}", str(target)], check=True)
    return target


def read(repository, source):
    """(path, text) of the files that the source names."""
    commit = source["commit"]
    listed = git(repository, "ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8").split("\0")
    wanted = re.compile(source["files"])
    names = [name for name in listed if wanted.search(name) and "\n" not in name]
    process = subprocess.Popen(["git", "-C", str(repository), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for name in names:
        process.stdin.write(f"{commit}:{name}\n".encode())
        process.stdin.flush()
        header = process.stdout.readline().split()
        if len(header) != 3:
            continue
        text = process.stdout.read(int(header[2]))
        process.stdout.read(1)
        yield name, text.decode("utf-8", "replace").replace("\r\n", "\n").lstrip("\ufeff")
    process.stdin.close()
    process.wait()


def git(repository, *arguments):
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, stdout=subprocess.PIPE).stdout


# ---- pages in Markdown -------------------------------------------------------------------------------------------------------------------------

def front_matter(text):
    if not text.startswith("---"):
        return {}, text
    end = text.find("\n---", 3)
    if end < 0:
        return {}, text
    fields = {}
    for line in text[3:end].split("\n"):
        name, colon, value = line.partition(":")
        if colon and re.fullmatch(r"[\w. ]+", name):
            fields[name.strip().lower()] = value.strip().strip("'\"")
    return fields, text[end + 4:]


def plain(text):
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"<a\s+[^>]*>\s*</a>|</?a\b[^>]*>|</?span\b[^>]*>|<br\s*/?>", "", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[!(INCLUDE|div|code)[^\]]*\]\([^)]*\)|\[!code[^\]]*\]|\[!(NOTE|TIP|WARNING|IMPORTANT|CAUTION|div)[^\]]*\]", "", text, flags=re.I)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<xref:([^?>]+)[^>]*>", r"\1", text)
    text = re.sub(r"^:::.*$", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def sections(body):
    """[(level, heading, text)] of a page; what stands before the first heading has the heading ""."""
    found, fence = [(0, "", [])], False
    for line in body.split("\n"):
        fence ^= line.lstrip().startswith("```")
        heading = None if fence else re.match(r"(#{1,4})\s+(.*?)\s*#*$", line)
        if heading:
            found.append((len(heading[1]), heading[2].strip(), []))
        else:
            found[-1][2].append(line)
    return [(level, heading, "\n".join(lines).strip()) for level, heading, lines in found]


def as_question(text, language):
    text = re.sub(r"[*`]|\\(?=[_<>*])", "", re.sub(r"\s+", " ", text)).strip(" :：")
    least, most = QUESTION_CHARACTERS[language]
    return text if least <= len(text) <= most and re.search(r"[a-zA-Z\u4e00-\u9fff]{2}", text) else None


def markdown(files, source, pairs, chance):
    """Pages as {path: (description, passage id)}."""
    language, group, pages = source["language"], source["group"], {}
    chance.shuffle(files)
    for path, text in files[:source.get("pages", len(files))]:
        fields, body = front_matter(text)
        parts = sections(plain(body))
        title = re.sub(r"\s*\|\s*Microsoft (Docs|Learn).*$", "", fields.get("title", "")) or next((h for _, h, _ in parts if h), "")
        title = plain(title)
        if not title:
            continue
        page = one_page(path, parts, fields, title, source, pairs, chance)
        if page:
            pages[path] = page
    return pages


def one_page(path, parts, fields, title, source, pairs, chance):
    language, group = source["language"], source["group"]
    described, parts = description(parts, fields, language)
    body = "\n\n".join(f"{'#' * level} {heading}\n\n{text}".strip() if heading else text for level, heading, text in parts).strip()
    limit = PASSAGE_CHARACTERS[language]
    page = None
    if len(body) >= 80:
        page = pairs.passage(f"{title}\n{body[:limit]}", group, language, path)
        if described:
            pairs.query(described, page, group, "description")
        if chance.random() < 0.15:
            asked = as_question(chance.choice(FORMS[language]).format(title), language)
            bare = re.sub(r"^#{1,2} .*\n+", "", body[:limit])
            if asked and len(bare) >= 80:
                pairs.query(asked, pairs.passage(bare, group, language, path), group, "title")
    wanted = [(h, t) for level, h, t in parts if h and level > 1 and h.lower() not in COMMON and len(t) >= 60]
    for heading, text in chance.sample(wanted, min(len(wanted), source.get("sections", 2))):
        text = text[:limit]
        passage = pairs.passage(f"{title} > {heading}\n{text}" if chance.random() < 0.35 else f"{title}\n{text}", group, language, path)
        if source.get("headings_ask"):
            asked = as_question(heading, language)
        elif chance.random() < 0.6:
            asked = as_question(chance.choice(FORMS[language]).format(heading if chance.random() < 0.5 else f"{title} {heading}"), language)
        else:
            asked, passage = sentence_question(title, text, (group, language, path), pairs, chance)
        if asked:
            pairs.query(asked, passage, group, "section")
    return (described, page) if page is not None else None


def description(parts, fields, language):
    """What the page says of itself, and the page without it: the front matter's description, the synopsis, or the first paragraph."""
    # Pages whose front matter was filled in by a program say nothing there.
    wanted = re.sub(r"^Learn more about:.*", "", fields.get("description", ""))
    parts = list(parts)
    for at, (level, heading, text) in enumerate(parts):
        if heading.lower() == "synopsis":
            wanted = text.split("\n\n")[0]
            del parts[at]
            break
    if not wanted or len(wanted) < 10:
        for at, (level, heading, text) in enumerate(parts):
            first, _, rest = text.partition("\n\n")
            if first and not first.startswith(("|", "`", "-", "*", ">", "1.")):
                wanted, parts[at] = first, (level, heading, rest)
                break
            if first:
                break
    asked = as_question(plain(wanted), language)
    if asked:
        # The description often is the first paragraph too.
        parts = [(level, heading, text.replace(wanted, "").replace(asked, "").strip()) for level, heading, text in parts]
    return asked, parts


def sentence_question(title, text, origin, pairs, chance):
    """A sentence of a text asks for the rest of it (inverse cloze task, Lee et al. 2019). `origin`: group, language, document."""
    language = origin[1]
    sentences = [one for one in re.split(r"(?<=[。！？])|(?<=[.!?])\s+", text) if one.strip()]
    usable = [at for at, one in enumerate(sentences) if as_question(one, language)]
    if len(sentences) < 3 or not usable:
        return None, None
    at = chance.choice(usable)
    rest = " ".join(sentences[:at] + sentences[at + 1:]) if language == "en" else "".join(sentences[:at] + sentences[at + 1:])
    return as_question(sentences[at], language), pairs.passage(f"{title}\n{rest}".strip(), *origin)


def across(pages, others, source, pairs, chance):
    """Questions in one language for the page in the other."""
    shared = sorted(set(pages) & set(others))
    for path in shared:
        for (asked, _), (_, passage) in ((pages[path], others[path]), (others[path], pages[path])):
            if asked and passage is not None and chance.random() < 0.5:
                pairs.query(asked, passage, pairs.passages[passage]["group"], "across")


# ---- abstracts and questions about them --------------------------------------------------------------------------------------------------------

def abstracts(files, source, pairs, chance):
    """JSON lines or reports with "title" and "summary" or "abstract"."""
    seen = set()
    for path, text in files:
        for paper in papers(path, text):
            title, abstract = as_question(paper.get("title") or "", "en"), re.sub(r"\s+", " ", paper.get("summary") or paper.get("abstract") or "").strip()
            if not title or title in seen or len(abstract) < 200:
                continue
            seen.add(title)
            one_abstract(title, abstract[:PASSAGE_CHARACTERS["en"]], source["group"], pairs, chance)
            if len(seen) >= source.get("papers", 10**9):
                return {}
    return {}


def one_abstract(title, abstract, group, pairs, chance):
    kind, origin = chance.random(), (group, "en", title)
    if kind < 0.45:
        pairs.query(reworded(title, chance), pairs.passage(abstract, *origin), group, "title")
    elif kind < 0.6:
        pairs.query(reworded(title, chance), pairs.passage(abstract, *origin), group, "title")
        asked, passage = sentence_question("", abstract, origin, pairs, chance)
        if asked:
            pairs.query(asked, passage, group, "sentence")
    else:
        asked, passage = sentence_question(title if chance.random() < 0.5 else "", abstract, origin, pairs, chance)
        if asked:
            pairs.query(reworded(asked, chance), passage, group, "sentence")


def reworded(text, chance):
    """A title or sentence as somebody might type it: small letters, without function words, words left out."""
    kind = chance.random()
    if kind < 0.4:
        return text
    words = text.split()
    if kind < 0.6:
        words = [word for word in words if word.lower() not in STOP]
    if kind > 0.75:
        words = [word for word in words if chance.random() > 0.25] or words
    return " ".join(words).lower().rstrip(".")


def papers(path, text):
    if path.endswith(".jsonl"):
        for line in text.split("\n"):
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError:
                    continue
        return
    try:
        report = json.loads(text)
    except ValueError:
        return
    listed = report.get("papers", []) if isinstance(report, dict) else report
    yield from (paper for paper in listed if isinstance(paper, dict))


def pubmed(files, source, pairs, chance):
    for _, text in files:
        for number, paper in json.loads(text).items():
            context = " ".join(paper["CONTEXTS"])[:PASSAGE_CHARACTERS["en"]]
            pairs.query(paper["QUESTION"], pairs.passage(context, source["group"], "en", number), source["group"], "question")
    return {}


READERS = {"markdown": markdown, "abstracts": abstracts, "pubmed": pubmed}

if __name__ == "__main__":
    main()
