"""Trains an embedding model on what `tributary training export` wrote, exports it as int8 ONNX and compares it with its base."""
import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

# e5 was trained with a temperature of 0.01 (Wang et al. 2024, "Multilingual E5 Text Embeddings").
SCALE = 100.0
WARM_UP = 0.1
# Cosine of a text's vector before and after the export, at least, on average: less says that the export is wrong.
LEAST_FIDELITY = 0.97


def arguments():
    parser = argparse.ArgumentParser(prog="deploy/training/finetune", description=__doc__, epilog="More: docs/training.md")
    parser.add_argument("data", type=Path, help="folder of `tributary training export`")
    parser.add_argument("--base", required=True, help="model to begin with: a model folder of deploy/models/fetch or of this script, or a Hugging Face "
                        "folder or name of an encoder of type bert, roberta or xlm-roberta")
    parser.add_argument("--output", type=Path, required=True, help="folder of the new model; its last part is the model's name")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32, help="questions at once: the more, the more passages each is compared with (32)")
    parser.add_argument("--learning-rate", type=float, default=2e-5)
    parser.add_argument("--max-length", type=int, default=256, help="tokens of a text in training (256); the model keeps its own limit")
    parser.add_argument("--dimensions", type=lambda text: [int(part) for part in text.split(",")],
                        help="lengths at which vectors can be cut, such as 768,384 (the model's own, and its half)")
    parser.add_argument("--train-word-embeddings", action="store_true", help="else they stay as they are, which needs less memory and data")
    parser.add_argument("--general", type=Path, action="append", default=[], help="evaluation set (BEIR layout) of other texts, to see what is forgotten "
                        "(repeatable)")
    parser.add_argument("--questions", type=int, default=1000, help="questions of each set at most in the comparison (1000)")
    parser.add_argument("--query-prefix", help="put before questions (that of the base)")
    parser.add_argument("--passage-prefix", help="put before passages (that of the base)")
    parser.add_argument("--license", help="of the new model (that of the base)")
    parser.add_argument("--device", help="such as cuda, cuda:1 or cpu (a GPU if there is one)")
    parser.add_argument("--threads", type=int, default=0, help="of the processor (all)")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    options = arguments()
    for name in ("train.jsonl", "test-set/corpus.jsonl"):
        if not (options.data / name).is_file():
            raise SystemExit(f"finetune: {options.data / name} is not there; `tributary training export … --output {options.data}` makes it")
    if options.output.exists() and any(options.output.iterdir()):
        raise SystemExit(f"finetune: {options.output} holds something already; name another --output")
    import compare
    import model_folder
    import torch

    quiet()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    random.seed(options.seed)
    with tempfile.TemporaryDirectory() as work:
        base = Base(options, Path(work))
        before = base.exported(Path(work) / "before")
        model = sentence_transformer(base, options)
        seconds, steps = train(model, base, options)
        base.settings["matryoshka_dimensions"] = base.dimensions
        base.settings["training"] = training_notes(options, seconds, steps)
        embeddings = None if options.train_word_embeddings else base.embeddings
        model_folder.export(encoder_of(model), base.tokenizer_file, options.output, base.settings, embeddings)
        after = model_folder.Encoder(options.output, options.threads)
        check_export(model, after, base, options)
        rows = []
        for folder in [options.data / "test-set", *options.general]:
            name = "own documents" if folder == options.data / "test-set" else folder.resolve().name
            print(f"comparing on {name}", file=sys.stderr)
            found = [compare.evaluate(encoder, folder, base.dimensions, options.questions)
                     for encoder in (model_folder.Encoder(before, options.threads), after)]
            rows += compare.table(name, *found)
    (options.output / "comparison.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (options.output / "README.md").write_text(card(options, base, rows, seconds, steps), encoding="utf-8")
    print(compare.describe(rows))
    print(f"{options.output}: tributary models add {options.output}, then models.folder = \"{options.output.name}\" and tributary knowledge-sets "
          "reindex --all (docs/reindexing.md)")


def quiet():
    """Loading a model is told by warnings and bars that say nothing to whoever trains one."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


class Base:
    """The model to begin with, as a Hugging Face folder, and its settings."""

    def __init__(self, options, work):
        import model_folder

        self.embeddings, self.folder = None, None
        if model_folder.is_model_folder(options.base):
            self.folder = Path(options.base)
            known = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
            self.hugging_face = str(work / "base")
            self.embeddings = model_folder.write_hugging_face(self.folder, self.hugging_face)
            self.tokenizer_file = self.folder / known["tokenizer_file"]
        else:
            from transformers import AutoTokenizer

            known, self.hugging_face = {}, options.base
            tokenizer = AutoTokenizer.from_pretrained(options.base)
            known["pad_token_id"], known["max_length"] = tokenizer.pad_token_id, min(tokenizer.model_max_length, 512)
            tokenizer.backend_tokenizer.no_padding()
            tokenizer.backend_tokenizer.no_truncation()
            self.tokenizer_file = work / "tokenizer.json"
            tokenizer.backend_tokenizer.save(str(self.tokenizer_file))
            pooling = Path(options.base) / "1_Pooling" / "config.json"
            if pooling.is_file() and json.loads(pooling.read_text(encoding="utf-8")).get("pooling_mode_cls_token"):
                known["pooling"] = "cls"
        prefix = {"query_prefix": options.query_prefix, "passage_prefix": options.passage_prefix}
        self.settings = {
            "upstream": known.get("upstream") or str(options.base), "license": options.license or known.get("license", "unknown"),
            "pooling": known.get("pooling", "mean"), "pad_token_id": known["pad_token_id"], "max_length": known["max_length"],
            **{name: known.get(name, "") if given is None else given for name, given in prefix.items()},
        }
        self.hidden = self._encoder().config.hidden_size
        self.dimensions = sorted(set(options.dimensions or [self.hidden, self.hidden // 2]), reverse=True)
        if self.dimensions[0] > self.hidden or self.dimensions[-1] < 1:
            raise SystemExit(f"finetune: vectors of this model have {self.hidden} dimensions; --dimensions {options.dimensions} cannot be cut from them")
        self.dimensions = sorted({self.hidden, *self.dimensions}, reverse=True)

    def _encoder(self):
        from transformers import AutoModel

        return AutoModel.from_pretrained(self.hugging_face)

    def exported(self, folder):
        """Its model folder, made in `folder` if it is none."""
        import model_folder

        if self.folder:
            return self.folder
        model_folder.export(self._encoder(), self.tokenizer_file, folder, self.settings)
        return folder


def sentence_transformer(base, options):
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(base.hugging_face, max_seq_length=min(options.max_length, base.settings["max_length"]))
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    model = SentenceTransformer(modules=[transformer, Pooling(base.hidden, pooling_mode=base.settings["pooling"])], device=device)
    if not options.train_word_embeddings:
        encoder_of(model).embeddings.word_embeddings.weight.requires_grad_(False)
    return model


def encoder_of(model):
    module = model[0]
    return getattr(module, "auto_model", None) or module.model


def batches(examples, size, chance):
    """Batches in an order by chance in which no passage is the answer to two questions, since it would be a wrong negative of each."""
    waiting = list(examples)
    chance.shuffle(waiting)
    while waiting:
        batch, seen, later = [], set(), []
        for example in waiting:
            if len(batch) < size and example["positive"] not in seen:
                batch.append(example)
                seen.add(example["positive"])
            else:
                later.append(example)
        if len(batch) > 1:
            yield batch
        waiting = later if len(batch) > 1 else []


def columns(batch, examples, epoch, base, chance):
    """Questions, right passages and one hard negative each; where there is none, a passage of another document."""
    right = {example["positive"] for example in batch}
    wrong = []
    for example in batch:
        known = [text for text in example["negatives"] if text not in right]
        while not known:
            other = chance.choice(examples)
            known = [other["positive"]] if other["document_id"] != example["document_id"] else []
        wrong.append(known[epoch % len(known)])
    query, passage = base.settings["query_prefix"], base.settings["passage_prefix"]
    return [[query + example["query"] for example in batch], [passage + example["positive"] for example in batch], [passage + text for text in wrong]]


def train(model, base, options):
    """Seconds and steps. The epoch that is best on dev.jsonl is kept, if there are several."""
    import compare
    import torch
    from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss, MultipleNegativesRankingLoss

    examples = compare.lines(options.data / "train.jsonl")
    if len({example["document_id"] for example in examples}) < 2:
        raise SystemExit(f"finetune: {options.data / 'train.jsonl'} has questions of fewer than two documents")
    loss_of = MatryoshkaLoss(model, MultipleNegativesRankingLoss(model, scale=SCALE), base.dimensions)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=options.learning_rate, weight_decay=0.01)
    chance = random.Random(options.seed)
    epochs = [list(batches(examples, options.batch, chance)) for _ in range(options.epochs)]
    total, done, begun = sum(map(len, epochs)), 0, time.monotonic()
    rate = lambda step: min((step + 1) / max(1, total * WARM_UP), max(0.0, (total - step) / max(1, total * (1 - WARM_UP))))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    best = (-1.0, None)
    for epoch, order in enumerate(epochs):
        model.train()
        sum_of_losses = 0.0
        for batch in order:
            features = [{name: value.to(model.device) if hasattr(value, "to") else value for name, value in model.preprocess(column).items()}
                        for column in columns(batch, examples, epoch, base, chance)]
            with torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=model.device.type == "cuda"):
                loss = loss_of(features, None)
            if not torch.isfinite(loss):
                raise SystemExit("finetune: the loss is not a number; try a lower --learning-rate")
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            done, sum_of_losses = done + 1, sum_of_losses + loss.item()
            remaining = (time.monotonic() - begun) / done * (total - done)
            print(f"\r  epoch {epoch + 1}/{options.epochs}  step {done}/{total}  loss {loss.item():.4f}  {remaining:.0f} s left ", end="", file=sys.stderr, flush=True)
        print(f"\n  epoch {epoch + 1}: mean loss {sum_of_losses / max(1, len(order)):.4f}", file=sys.stderr)
        if options.epochs > 1:
            best = max(best, (dev_score(model, base, options), epoch_state(model)), key=lambda one: one[0])
    if best[1] is not None:
        encoder_of(model).load_state_dict(best[1])
    return time.monotonic() - begun, total


def epoch_state(model):
    return {name: value.detach().cpu().clone() for name, value in encoder_of(model).state_dict().items()}


def dev_score(model, base, options):
    """nDCG@10 of dev.jsonl over all passages; 0 where it is empty, so that the last epoch is not preferred by noise."""
    import compare

    questions = compare.lines(options.data / "dev.jsonl")
    if not questions:
        return 0.0
    passages = {line["_id"]: f"{line['title']}\n{line['text']}".strip() for line in compare.lines(options.data / "test-set" / "corpus.jsonl")}
    vectors = [model.encode([prefix + text for text in texts], normalize_embeddings=True, show_progress_bar=False) for prefix, texts in
               ((base.settings["query_prefix"], [line["query"] for line in questions]), (base.settings["passage_prefix"], passages.values()))]
    found = compare.scores(vectors[0], vectors[1], list(passages), [{line["chunk_id"]} for line in questions])
    print(f"  dev nDCG@10 {found['nDCG@10'].mean():.4f} of {len(questions)} questions", file=sys.stderr)
    return float(found["nDCG@10"].mean())


def check_export(model, exported, base, options):
    """The exported model must give the vectors that were trained."""
    import compare

    limit = base.settings["max_length"]
    model.max_seq_length = limit
    texts = [example["positive"] for example in compare.lines(options.data / "train.jsonl")[:32]]
    own = model.encode([base.settings["passage_prefix"] + text for text in texts], normalize_embeddings=True, show_progress_bar=False)
    cosines = (own * exported.encode(texts, "passage")).sum(axis=1)
    print(f"export: cosine to the trained weights mean {cosines.mean():.4f}, least {cosines.min():.4f}", file=sys.stderr)
    if cosines.mean() < LEAST_FIDELITY:
        raise SystemExit(f"finetune: the exported model gives other vectors than the trained one (mean cosine {cosines.mean():.3f}); it is not to be used")


def training_notes(options, seconds, steps):
    return {"method": "MultipleNegativesRankingLoss in MatryoshkaLoss, one hard negative a question", "epochs": options.epochs, "steps": steps,
            "batch": options.batch, "learning_rate": options.learning_rate, "scale": SCALE, "max_length": options.max_length, "seed": options.seed,
            "word_embeddings": "trained" if options.train_word_embeddings else "frozen", "seconds": round(seconds, 1)}


def card(options, base, rows, seconds, steps):
    """What a reader of the model folder must know."""
    import compare

    questions = len(compare.lines(options.data / "train.jsonl"))
    settings = base.settings
    return f"""# {options.output.name}

An embedding model for Tributary, fine-tuned from {settings['upstream']} ({settings['license']}).

- Data: {questions} questions of one's own documents (`tributary training`), one hard negative each; tested on documents that were not trained on.
- Training: {json.dumps(training_notes(options, seconds, steps))}
- Vectors: {base.hidden} dimensions, which can be cut to {', '.join(map(str, base.dimensions))}; prefixes `{settings['query_prefix']}` and `{settings['passage_prefix']}`.
- The licence of the model is that of its base and of the documents; check the second before you give it away.

Vectors alone, exact search, before and after (int8 ONNX both):

```
{compare.describe(rows)}
```
"""


if __name__ == "__main__":
    main()
