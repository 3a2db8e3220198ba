"""Wrong passages that look right: by the base's vectors and by BM25."""
import random
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BY_VECTOR, BY_KEYWORD, CANDIDATES = 30, 20, 40
# Passages whose vectors are nearer than this to the right one's may be it in other words.
SAME = 0.985


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def fast(device):
    """Half precision on a GPU; processors are slower with it."""
    return torch.autocast("cuda" if device.startswith("cuda") else "cpu", dtype=torch.bfloat16, enabled=device.startswith("cuda"))


def base_model(options):
    """The base as a BertModel."""
    import model_folder
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        model_folder.write_hugging_face(options.base, folder)
        return transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False).to(options.device)


@torch.no_grad()
def vectors(model, texts, prefix, data):
    """Unit vectors [texts, hidden]: the mean over the tokens behind `prefix`, as the base's own texts are embedded."""
    before, behind = data.template.single
    made = torch.zeros((len(texts), model.config.hidden_size), dtype=torch.float32, device=data.device)
    first = torch.tensor([*before, *prefix], device=data.device)
    last = torch.tensor(behind, device=data.device)
    for some in texts.lengths.argsort().split(1024):
        part = texts[some]
        width = int(part.lengths.max())
        whole = torch.cat([first.expand(len(some), -1), part.ids[:, :width].long(), torch.full((len(some), len(last)), data.pad, device=data.device)], dim=1)
        whole.scatter_(1, (part.lengths + len(first))[:, None] + torch.arange(len(last), device=data.device), last.expand(len(some), -1))
        at = torch.arange(whole.shape[1], device=data.device)[None]
        mask = (at < (part.lengths + len(first) + len(last))[:, None]).long()
        with fast(data.device):
            states = model(input_ids=whole, attention_mask=mask).last_hidden_state.float()
        made[some] = F.normalize((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True), dim=1)
    return made


class Keywords:
    """BM25 over tokens (k1 1.2, b 0.75) as one matrix of weights, [passages, tokens that occur]."""

    def __init__(self, passages, kind):
        ids, inside, device = passages.ids, passages.inside(), passages.ids.device
        known, places = torch.unique(ids[inside], return_inverse=True)
        self.columns = torch.full((int(ids.max()) + 1,), -1, device=device, dtype=torch.long)
        self.columns[known.long()] = torch.arange(len(known), device=device)
        self.weights = torch.zeros((len(ids), len(known)), dtype=kind, device=device)
        rows = torch.arange(len(ids), device=device)[:, None].expand_as(ids)[inside]
        self.weights.index_put_((rows, places), torch.ones(len(rows), dtype=kind, device=device), accumulate=True)
        frequency = torch.zeros(len(known), device=device)
        norm = (1.2 * (0.25 + 0.75 * passages.lengths / passages.lengths.float().mean().clamp(min=1))).to(kind)
        # By parts: a second matrix of this size may not fit.
        for part, length in zip(self.weights.split(4096), norm.split(4096)):
            frequency += (part > 0).sum(0)
            part.mul_(2.2 / (part + length[:, None]))
        self.inverse = torch.log(1 + (len(ids) - frequency + 0.5) / (frequency + 0.5)).to(kind)

    def scores(self, queries):
        ids = queries.ids
        columns = torch.where(queries.inside() & (ids < len(self.columns)), self.columns[ids.clamp(max=len(self.columns) - 1).long()], -1)
        asked = torch.zeros((len(ids), self.weights.shape[1]), dtype=self.weights.dtype, device=ids.device)
        rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(columns)
        asked[rows[columns >= 0], columns[columns >= 0]] = 1
        return (asked * self.inverse) @ self.weights.T


def kind_of(device):
    return torch.float16 if device.startswith("cuda") else torch.float32


def mine(data, options):
    """Of each question CANDIDATES passages of its group [questions, CANDIDATES] that are not its answer, those that look most like it first."""
    model = base_model(options).eval()
    asked, told = (vectors(model, texts, data.prefix(role), data) for role, texts in (("query", data.queries), ("passage", data.passages)))
    say("vectors are made")
    found = torch.zeros((len(asked), CANDIDATES), dtype=torch.int32)
    chance = random.Random(options.seed)
    for group in sorted(set(data.query_groups)):
        members = torch.tensor([at for at, name in enumerate(data.groups) if name == group], device=options.device)
        questions = [at for at, name in enumerate(data.query_groups) if name == group]
        keywords = Keywords(data.passages[members], kind_of(options.device))
        for some in torch.tensor(questions, device=options.device).split(1024):
            near = (asked[some] @ told[members].T).topk(min(BY_VECTOR, len(members))).indices
            by_words = keywords.scores(data.queries[some]).topk(min(BY_KEYWORD, len(members))).indices
            right = torch.tensor([data.positives[at][0] for at in some.tolist()], device=options.device)
            for way, listed in zip(("near", "words"), (near, by_words)):
                likeness = torch.einsum("qcd,qd->qc", told[members[listed]], told[right])
                listed = torch.where(likeness < SAME, members[listed], -1)
                near, by_words = (listed, by_words) if way == "near" else (near, listed)
            for at, first, second in zip(some.tolist(), near.tolist(), by_words.tolist()):
                found[at] = torch.tensor(choose(data, at, (first, second), members, chance))
        say(f"  {group}: {len(members)} passages, {len(questions)} questions")
    return {"found": found}


def choose(data, question, ways, members, chance):
    """The wrong ones of what was found, by turns of both ways, filled up by chance; -1 stands for what may be the answer in other words."""
    own = {data.documents[at] for at in data.positives[question]}
    kept = {}
    for at in range(max(map(len, ways))):
        for way in ways:
            if at < len(way) and way[at] >= 0 and data.documents[way[at]] not in own:
                kept.setdefault(way[at])
    kept, tries = list(kept)[:CANDIDATES], 0
    while len(kept) < CANDIDATES:
        other, tries = int(members[chance.randrange(len(members))]), tries + 1
        if data.documents[other] not in own:
            kept.append(other)
        elif tries > 1000:
            raise SystemExit(f"train: nearly all passages of the group {data.groups[other]} are of one document; wrong answers come from others")
    return kept
