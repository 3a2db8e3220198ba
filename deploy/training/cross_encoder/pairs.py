"""Questions and passages as tokens, and as the pairs that a cross-encoder reads."""
import json

import numpy as np
import torch

QUESTION_TOKENS = 64


def lines(file):
    with open(file, encoding="utf-8") as content:
        return [json.loads(line) for line in content if line.strip()]


class Template:
    """What the tokenizer puts around a text, and around and between the two of a pair."""

    def __init__(self, tokenizer):
        self.single = self._around(tokenizer.encode("a"))
        self.pair = self._around(tokenizer.encode("a", "b"))
        if len(self.single) != 2 or len(self.pair) != 3:
            raise SystemExit("train: the tokenizer of the base puts nothing around or between texts; a cross-encoder needs that")
        if any(tokenizer.encode("a", "b").type_ids):
            raise SystemExit("train: the tokenizer of the base tells the texts of a pair by token types, which the exported model does not have; "
                             "take a base with type 0 alone, such as multilingual-e5-small")

    @staticmethod
    def _around(encoded):
        """Runs of special tokens, each before, between or behind the texts."""
        runs, inside = [[]], False
        for token, special in zip(encoded.ids, encoded.special_tokens_mask):
            if special and inside:
                runs.append([])
            if special:
                runs[-1].append(token)
            inside = not special
        return runs

    @property
    def width(self):
        return sum(map(len, self.pair))


class Texts:
    """Texts without special tokens: ids [texts, most tokens] and their lengths [texts]."""

    def __init__(self, ids, lengths):
        self.ids, self.lengths = ids, lengths

    @classmethod
    def of(cls, tokenizer, texts, most, pad, device):
        ids, lengths = np.full((len(texts), most), pad, dtype=np.int32), np.zeros(len(texts), dtype=np.int32)
        for start in range(0, len(texts), 4096):
            for at, encoded in enumerate(tokenizer.encode_batch(texts[start:start + 4096], add_special_tokens=False), start):
                lengths[at] = min(len(encoded.ids), most)
                ids[at, :lengths[at]] = encoded.ids[:most]
        return cls(torch.tensor(ids, device=device), torch.tensor(lengths, device=device, dtype=torch.long))

    def __getitem__(self, rows):
        return Texts(self.ids[rows], self.lengths[rows])

    def __len__(self):
        return len(self.ids)

    def inside(self):
        return torch.arange(self.ids.shape[1], device=self.ids.device)[None] < self.lengths[:, None]


class Data:
    """What collect.py or `tributary training export` wrote, as tokens."""

    def __init__(self, options):
        from tokenizers import Tokenizer

        self.settings = json.loads((options.base / "config.json").read_text(encoding="utf-8"))
        self.tokenizer = Tokenizer.from_file(str(options.base / self.settings["tokenizer_file"]))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.template, self.pad = Template(self.tokenizer), self.settings["pad_token_id"]
        self.device, self.max_length = options.device, options.max_length
        passages, queries = exported(options.data) if (options.data / "train.jsonl").is_file() else collected(options.data)
        self.passages = self.texts([one["text"] for one in passages], options.max_length)
        self.queries = self.texts([one["text"] for one in queries], QUESTION_TOKENS)
        self.groups = [one["group"] for one in passages]
        self.documents = [(one["group"], one["document"]) for one in passages]
        self.query_groups = [one["group"] for one in queries]
        self.positives = [one["positives"] for one in queries]

    def texts(self, texts, most):
        return Texts.of(self.tokenizer, texts, most, self.pad, self.device)

    def prefix(self, role):
        return self.tokenizer.encode(self.settings.get(f"{role}_prefix", ""), add_special_tokens=False).ids

    def pairs(self, queries, passages, rows, columns):
        """Ids [pairs, tokens] and mask of question and passage, the passage cut where the pair is longer than the model reads."""
        before, between, behind = self.template.pair
        asked = queries.lengths[rows].clamp(max=min(QUESTION_TOKENS, self.max_length // 2))[:, None]
        told = torch.minimum(passages.lengths[columns][:, None], self.max_length - self.template.width - asked)
        width = int((asked + told).max()) + self.template.width
        at = torch.arange(width, device=self.device)[None]
        question, passage = at - len(before), at - len(before) - asked - len(between)
        ids = torch.full((len(rows), width), self.pad, device=self.device, dtype=torch.long)
        for texts, which, place, count in ((queries, rows, question, asked), (passages, columns, passage, told)):
            place = place.expand(len(rows), -1)
            tokens = texts.ids[which].gather(1, place.clamp(0, texts.ids.shape[1] - 1)).long()
            ids = torch.where((place >= 0) & (place < count), tokens, ids)
        for first, run in ((torch.zeros_like(asked), before), (asked + len(before), between), (asked + told + len(before) + len(between), behind)):
            for offset, token in enumerate(run):
                ids.scatter_(1, first + offset, token)
        return ids, (at < asked + told + self.template.width).long()


def collected(folder):
    for name in ("passages.jsonl", "queries.jsonl"):
        if not (folder / name).is_file():
            raise SystemExit(f"train: {folder / name} is not there; `deploy/training/cross-encoder collect` or `tributary training export` makes the data")
    return lines(folder / "passages.jsonl"), lines(folder / "queries.jsonl")


def exported(folder):
    """Questions of `tributary training export`: its hard negatives are passages like others, which train.py chooses from."""
    ids, passages, queries = {}, [], []

    def passage(text, document):
        if text not in ids:
            ids[text] = len(passages)
            passages.append({"group": "own", "document": document, "text": text})
        return ids[text]

    for number, line in enumerate(lines(folder / "train.jsonl")):
        queries.append({"text": line["query"], "positives": [passage(line["positive"], line["document_id"])], "group": "own"})
        for at, text in enumerate(line["negatives"]):
            passage(text, f"{number}-{at}")
    return passages, queries
