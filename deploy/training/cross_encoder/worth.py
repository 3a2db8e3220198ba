"""What a cross-encoder is worth: on questions that were held out, and on evaluation sets behind a fused order."""
import math
from pathlib import Path

import numpy as np
import torch

from mining import CANDIDATES, Keywords, base_model, fast, kind_of, say, vectors
from pairs import QUESTION_TOKENS, lines

WEIGHTS = (0, 0.15, 0.3, 0.5, 0.7, 1)


@torch.no_grad()
def report(name, model, data, mined, options, held_out):
    """Says its figures, and gives them as lines."""
    model.eval()
    found = []
    for group in held_out:
        questions = torch.tensor([at for at, of in enumerate(data.query_groups) if of == group][:1000])
        ranks = []
        for some in questions.split(64) if len(questions) else []:
            right = torch.tensor([data.positives[at][0] for at in some.tolist()])[:, None]
            columns = torch.cat([right, mined["found"][some].long()], dim=1).to(options.device)
            logits = model.of_lists(data, some.to(options.device), columns)
            ranks += (logits[:, 1:] > logits[:, :1]).sum(1).tolist()
        if ranks:
            found.append(f"{name} {group}: first of {CANDIDATES + 1} {np.mean(np.array(ranks) == 0):.3f}, MRR {np.mean(1 / (1 + np.array(ranks))):.3f}")
            say(found[-1])
    for place in options.evaluate:
        found.append(evaluate(name, model, data, place, options))
        say(found[-1])
    return found


@torch.no_grad()
def evaluate(name, model, data, place, options):
    """nDCG@10 of the first 80 of a fused order (vectors .6, BM25 .4), ordered again with so much weight of the cross-encoder as `rerank.weight` has.
    A guide for training: what counts is `tributary eval run`, whose tier 2 is better."""
    folder, queries, qrels = (place.split(":") + ["queries.jsonl", "qrels.tsv"])[:3] if ":" in place else (place, "queries.jsonl", "qrels.tsv")
    folder = Path(folder)
    corpus, judged = lines(folder / "corpus.jsonl"), judgements(folder / qrels)
    asked = [one for one in lines(folder / queries) if one["_id"] in judged][:1000]
    # Passages begin with their title where it is not their first line already.
    told = [one["text"] if one["text"].lstrip("# ").startswith(one.get("title", "")) else f"{one['title']}\n{one['text']}" for one in corpus]
    passages, questions = data.texts(told, options.max_length), data.texts([one["text"] for one in asked], QUESTION_TOKENS)
    base = base_model(options).eval()
    near = vectors(base, questions, data.prefix("query"), data) @ vectors(base, passages, data.prefix("passage"), data).T
    fused = 0.6 * scaled(near) + 0.4 * scaled(Keywords(passages, kind_of(options.device)).scores(questions).float())
    first = fused.topk(min(80, len(corpus)))
    logits = torch.zeros_like(first.values)
    for some in torch.arange(len(asked), device=options.device).split(32):
        rows = some[:, None].expand(-1, first.indices.shape[1]).reshape(-1)
        ids, mask = data.pairs(questions, passages, rows, first.indices[some].reshape(-1))
        with fast(options.device):
            logits[some] = model(ids, mask).float().view(len(some), -1)
    place_of = {one["_id"]: at for at, one in enumerate(corpus)}
    relevant = [{place_of[passage] for passage in judged[one["_id"]] if passage in place_of} for one in asked]
    return f"{name} {folder.name} {queries} ({len(asked)}): nDCG@10 by weight " + "  ".join(
        f"{weight}: {ndcg(mixed(first.values, logits, weight), first.indices, relevant):.4f}" for weight in WEIGHTS)


def mixed(fused, logits, weight):
    """As retrieval/src/rerank.rs mixes."""
    best = logits.max(dim=1, keepdim=True).values
    return (1 - weight) * fused + weight * (2 * torch.sigmoid((logits - best) / 2) if weight < 1 else torch.sigmoid(logits))


def ndcg(scores, passages, relevant):
    gains = torch.tensor([[float(at in right) for at in row] for row, right in zip(passages.tolist(), relevant)])
    order = scores.cpu().argsort(dim=1, descending=True)[:, :10]
    found = (gains.gather(1, order) / torch.log2(torch.arange(order.shape[1]) + 2.0)).sum(1)
    ideal = torch.tensor([sum(1 / math.log2(rank + 2) for rank in range(min(10, len(right)))) for right in relevant])
    return float((found / ideal.clamp(min=1e-9)).mean())


def judgements(file):
    judged = {}
    for line in file.read_text(encoding="utf-8").split("\n")[1:]:
        if line.strip():
            query, passage, score = line.split("\t")
            if int(score) > 0:
                judged.setdefault(query, set()).add(passage)
    return judged


def scaled(scores):
    """The first 200 of each row to 0..1, the others 0."""
    best = scores.topk(min(200, scores.shape[1]), dim=1).values
    low, high = best[:, -1:], best[:, :1]
    return ((scores - low) / (high - low).clamp(min=1e-6)).clamp(0, 1)
