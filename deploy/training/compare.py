"""How well vectors alone find the passages of an evaluation set (BEIR layout), before and after training."""
import json
from pathlib import Path

import numpy as np

DEPTH = 10
RESAMPLES = 2000


def lines(file):
    with open(file, encoding="utf-8") as text:
        return [json.loads(line) for line in text if line.strip()]


def read(folder, limit=None, seed=1):
    """Passages by id, questions by id and relevant passages of each; a sample of the questions if there are more than `limit`."""
    folder = Path(folder)
    passages = {line["_id"]: f"{line.get('title', '')}\n{line['text']}".strip() for line in lines(folder / "corpus.jsonl")}
    questions = {line["_id"]: line["text"] for line in lines(folder / "queries.jsonl") if line["text"].strip()}
    relevant = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, passage, score = line.split("\t")
        if float(score) > 0 and question in questions and passage in passages:
            relevant.setdefault(question, set()).add(passage)
    chosen = sorted(relevant)
    if limit and len(chosen) > limit:
        chosen = [chosen[at] for at in np.random.default_rng(seed).permutation(len(chosen))[:limit]]
    return passages, {key: questions[key] for key in chosen}, relevant


def scores(question_vectors, passage_vectors, passage_ids, relevant):
    """recall@10, nDCG@10 and reciprocal rank of each question: arrays by name. `relevant` has a set of ids for each question."""
    found = {"recall@10": [], "nDCG@10": [], "MRR@10": []}
    for vector, right in zip(question_vectors, relevant):
        similarities = passage_vectors @ vector
        first = np.argpartition(-similarities, min(DEPTH, len(similarities) - 1))[:DEPTH]
        ranked = [passage_ids[at] in right for at in sorted(first, key=lambda at: -similarities[at])]
        gains = sum(1 / np.log2(rank + 2) for rank, hit in enumerate(ranked) if hit)
        ideal = sum(1 / np.log2(rank + 2) for rank in range(min(len(right), DEPTH)))
        found["recall@10"].append(sum(ranked) / len(right))
        found["nDCG@10"].append(gains / ideal)
        found["MRR@10"].append(1 / (ranked.index(True) + 1) if True in ranked else 0.0)
    return {name: np.array(values) for name, values in found.items()}


def evaluate(encoder, folder, dimensions, limit=None):
    """Scores of each question by number of dimensions."""
    passages, questions, relevant = read(folder, limit)
    if not questions:
        return {}
    passage_vectors = encoder.encode(list(passages.values()), "passage")
    question_vectors = encoder.encode(list(questions.values()), "query")
    ids, right = list(passages), [relevant[key] for key in questions]
    return {size: scores(cut(question_vectors, size), cut(passage_vectors, size), ids, right) for size in dimensions}


def cut(vectors, size):
    """The front of the vectors, as unit vectors."""
    front = vectors[:, :size]
    return front / np.maximum(np.linalg.norm(front, axis=1, keepdims=True), 1e-12)


def difference(before, after, seed=1):
    """Mean difference and its 95 % interval by paired bootstrap over questions."""
    differences = after - before
    picks = np.random.default_rng(seed).integers(0, len(differences), (RESAMPLES, len(differences)))
    means = differences[picks].mean(axis=1)
    return float(differences.mean()), [float(np.percentile(means, share)) for share in (2.5, 97.5)]


def table(name, before, after):
    """Rows (plain data) of one set."""
    rows = []
    for size in before:
        for measure in before[size]:
            old, new = before[size][measure], after[size][measure]
            change, (low, high) = difference(old, new)
            rows.append({"set": name, "dimensions": size, "measure": measure, "questions": len(old), "before": float(old.mean()),
                         "after": float(new.mean()), "change": change, "interval": [low, high]})
    return rows


def describe(rows):
    text = [f"{'set':24} {'dim':>4} {'measure':10} {'n':>5} {'before':>7} {'after':>7} {'change':>8}  95 % interval"]
    for row in rows:
        low, high = row["interval"]
        text.append(f"{row['set'][:24]:24} {row['dimensions']:4} {row['measure']:10} {row['questions']:5} {row['before']:7.4f} {row['after']:7.4f} "
                    f"{row['change']:+8.4f}  {low:+.4f} … {high:+.4f}")
    return "\n".join(text)
