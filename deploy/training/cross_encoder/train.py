"""Trains a small cross-encoder on what `collect` or `tributary training export` wrote: a teacher of all layers of the base, then a student of a few
layers that learns its scores.

Steps, each kept in --work, so that a run that was stopped goes on where it was: wrong passages that look right (by the base's vectors and by BM25),
teacher, the teacher's scores, student, export as a model folder of kind `reranker`. A GPU is used if there is one; without one this takes days.
"""
import argparse
import copy
import json
import math
import random
import sys
import time
from pathlib import Path

# Groups of sources.json whose questions are not trained on, to see what was learned: Chinese pages, abstracts, Chinese interview questions.
HELD_OUT = ("windowsserver-zh", "arxiv-2", "advanced-java-zh")
LIST = 16
WARM_UP = 0.06


def arguments():
    parser = argparse.ArgumentParser(prog="deploy/training/cross-encoder train", description=__doc__, epilog="More: docs/training.md")
    parser.add_argument("data", type=Path, help="folder of collect, or of `tributary training export`")
    parser.add_argument("--base", type=Path, required=True, help="model folder to begin with, such as multilingual-e5-small of deploy/models/fetch")
    parser.add_argument("--work", type=Path, required=True, help="folder of what is half done")
    parser.add_argument("--output", type=Path, required=True, help="folder of the new model; its last part is the model's name")
    parser.add_argument("--layers", type=lambda text: [int(part) for part in text.split(",")], default=[0, 3, 7, 11],
                        help="layers of the teacher that the student begins with (0,3,7,11)")
    parser.add_argument("--max-length", type=int, default=224, help="tokens of question and passage together (224)")
    parser.add_argument("--batch", type=int, default=64, help="questions of a step (64)")
    parser.add_argument("--teacher-epochs", type=float, default=2)
    parser.add_argument("--student-epochs", type=float, default=3)
    parser.add_argument("--teacher-rate", type=float, default=1e-4)
    parser.add_argument("--student-rate", type=float, default=3e-4)
    parser.add_argument("--evaluate", action="append", default=[], help="evaluation set (BEIR layout), or SET:QUERIES:QRELS (repeatable)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="such as cuda, cuda:1 or cpu (a GPU if there is one)")
    return parser.parse_args()


# Help and wrong options need no packages.
OPTIONS = arguments() if __name__ == "__main__" else None

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import worth  # noqa: E402
from mining import CANDIDATES, base_model, fast, mine, say  # noqa: E402
from pairs import Data  # noqa: E402


def main(options):
    if options.output.exists() and any(options.output.iterdir()):
        raise SystemExit(f"train: {options.output} holds something already; name another --output")
    options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(options.seed)
    random.seed(options.seed)
    torch.set_float32_matmul_precision("high")
    data = Data(options)
    goes_on(options, data)
    say(f"{len(data.passages)} passages, {len(data.queries)} questions")
    mined = kept(options.work / "mined.pt", lambda: mine(data, options))
    teacher = CrossEncoder(base_model(options)).to(options.device)
    if max(options.layers) >= teacher.encoder.config.num_hidden_layers:
        raise SystemExit(f"train: --layers names layer {max(options.layers)}, but {options.base} has {teacher.encoder.config.num_hidden_layers}, from 0")
    restore(teacher, options.work / "teacher.pt", lambda: train_teacher(teacher, data, mined, options))
    figures = worth.report("teacher", teacher, data, mined, options, HELD_OUT)
    lists = kept(options.work / "scores.pt", lambda: score_lists(teacher, data, mined, options))
    student = CrossEncoder(teacher.encoder_of_layers(options.layers)).to(options.device)
    student.head.load_state_dict(teacher.head.state_dict())
    restore(student, options.work / "student.pt", lambda: train_student(student, data, lists, options))
    figures += worth.report("student", student, data, mined, options, HELD_OUT)
    write(student, data, figures, options)


def goes_on(options, data):
    """Refuses a --work that another run left half done."""
    run = {"base": data.settings["name"], "passages": len(data.passages), "questions": len(data.queries), "max_length": options.max_length,
           "layers": options.layers, "seed": options.seed}
    file = options.work / "run.json"
    if file.is_file() and json.loads(file.read_text(encoding="utf-8")) != run:
        raise SystemExit(f"train: {options.work} is of another run ({file.read_text(encoding='utf-8').strip()}); name another --work")
    options.work.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(run) + "\n", encoding="utf-8")


def kept(file, make):
    if not file.is_file():
        made = make()
        torch.save(made, file.with_suffix(".part"))
        file.with_suffix(".part").rename(file)
    return torch.load(file, weights_only=True)


def restore(model, file, train):
    if file.is_file():
        model.load_state_dict(torch.load(file, weights_only=True))
        return
    train()
    torch.save(model.state_dict(), file.with_suffix(".part"))
    file.with_suffix(".part").rename(file)


# ---- the model ---------------------------------------------------------------------------------------------------------------------------------

class CrossEncoder(torch.nn.Module):
    """An encoder and a head that makes one logit of its first token: linear, tanh, linear."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        hidden = encoder.config.hidden_size
        self.head = torch.nn.Sequential(torch.nn.Linear(hidden, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, 1))
        # Four fifths of the weights, and most of them of words that the questions here do not have.
        encoder.embeddings.word_embeddings.weight.requires_grad_(False)

    def encoder_of_layers(self, layers):
        config = copy.deepcopy(self.encoder.config)
        config.num_hidden_layers = len(layers)
        small = type(self.encoder)(config, add_pooling_layer=False)
        small.embeddings.load_state_dict(self.encoder.embeddings.state_dict())
        for ours, theirs in enumerate(layers):
            small.encoder.layer[ours].load_state_dict(self.encoder.encoder.layer[theirs].state_dict())
        return small

    def forward(self, ids, mask):
        return self.head(self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]).squeeze(-1)

    def of_lists(self, data, rows, columns):
        """Logits [questions, passages] of passages [questions, passages]."""
        ids, mask = data.pairs(data.queries, data.passages, rows[:, None].expand_as(columns).reshape(-1), columns.reshape(-1))
        with fast(data.device):
            return self(ids, mask).float().view(columns.shape)


def optimizer_of(model, rate, steps):
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.01)
    warm = max(1, int(steps * WARM_UP))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm))))
    return trained, optimizer, schedule


def step(loss, trained, optimizer, schedule):
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad(set_to_none=True)


def trained_questions(data):
    return torch.tensor([at for at, group in enumerate(data.query_groups) if group not in HELD_OUT])


def order_of(questions, epochs, batch, seed):
    """Batches of questions by chance over so many epochs; what is left over is left out if others could not be strangers to it."""
    made = torch.Generator().manual_seed(seed)
    order = torch.cat([questions[torch.randperm(len(questions), generator=made)] for _ in range(math.ceil(epochs))])
    return [some for some in order[:int(len(questions) * epochs)].split(batch) if len(some) > 2]


def columns_of(data, mined, questions, hard, others, device):
    """The right passage first, then wrong ones: half of the first ten of those mined, the rest of all mined, and `others` of the same step."""
    right = torch.tensor([random.choice(data.positives[at]) for at in questions.tolist()], device=device)
    found = mined["found"][questions].to(device).long()
    first = torch.rand(len(questions), 10, device=device).argsort(dim=1)[:, :hard // 2]
    rest = 10 + torch.rand(len(questions), CANDIDATES - 10, device=device).argsort(dim=1)[:, :hard - hard // 2]
    wrong = found.gather(1, torch.cat([first, rest], dim=1))
    strangers = [right.roll(shift + 1)[:, None] for shift in range(others)]
    return torch.cat([right[:, None], wrong, *strangers], dim=1)


def progress(name, done, total, begun, loss):
    if done % 100 == 0 or done == total:
        spent = time.monotonic() - begun
        say(f"  {name} step {done}/{total}  loss {loss:.4f}  {spent:.0f} s, {spent / done * (total - done):.0f} s left")


def train_teacher(model, data, mined, options):
    batches = order_of(trained_questions(data), options.teacher_epochs, options.batch, options.seed)
    trained, optimizer, schedule = optimizer_of(model, options.teacher_rate, len(batches))
    model.train()
    begun, mean = time.monotonic(), 0.0
    for done, questions in enumerate(batches, 1):
        columns = columns_of(data, mined, questions, 7, 1, options.device)
        logits = model.of_lists(data, questions.to(options.device), columns)
        loss = F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device=options.device))
        step(loss, trained, optimizer, schedule)
        if done % 20 == 1:  # Reading the loss waits for the GPU.
            mean = loss.item() if done == 1 else 0.9 * mean + 0.1 * loss.item()
        progress("teacher", done, len(batches), begun, mean)


@torch.no_grad()
def score_lists(teacher, data, mined, options):
    """Lists [questions, LIST], the right passage first, with the teacher's logits."""
    teacher.eval()
    questions = trained_questions(data)
    columns, scores = torch.zeros((len(questions), LIST), dtype=torch.int32), torch.zeros((len(questions), LIST))
    begun = time.monotonic()
    # The last one, which may be short, is scored with those before it.
    parts = max(1, len(questions) // 128)
    for done, some in enumerate(torch.arange(len(questions)).chunk(parts)):
        listed = columns_of(data, mined, questions[some], LIST - 3, 2, options.device)
        columns[some], scores[some] = listed.int().cpu(), teacher.of_lists(data, questions[some].to(options.device), listed).cpu()
        if done % 100 == 0:
            say(f"  scored {done * 128}/{len(questions)}, {time.monotonic() - begun:.0f} s")
    return {"questions": questions, "columns": columns, "scores": scores}


def train_student(model, data, lists, options):
    """By the divergence of both distributions over a list, and a little by the distance of the logits from the mean of theirs."""
    batches = order_of(torch.arange(len(lists["questions"])), options.student_epochs, options.batch, options.seed + 1)
    trained, optimizer, schedule = optimizer_of(model, options.student_rate, len(batches))
    model.train()
    begun, mean = time.monotonic(), 0.0
    for done, some in enumerate(batches, 1):
        wanted = lists["scores"][some].to(options.device)
        logits = model.of_lists(data, lists["questions"][some].to(options.device), lists["columns"][some].to(options.device).long())
        divergence = F.kl_div(F.log_softmax(logits / 2, dim=1), F.log_softmax(wanted / 2, dim=1), log_target=True, reduction="batchmean") * 4
        distance = F.mse_loss(logits - logits.mean(1, keepdim=True), wanted - wanted.mean(1, keepdim=True))
        loss = divergence + 0.05 * distance
        step(loss, trained, optimizer, schedule)
        if done % 20 == 1:  # Reading the loss waits for the GPU.
            mean = loss.item() if done == 1 else 0.9 * mean + 0.1 * loss.item()
        progress("student", done, len(batches), begun, mean)


# ---- the model folder --------------------------------------------------------------------------------------------------------------------------

def write(student, data, figures, options):
    import model_folder

    base = data.settings
    embeddings = model_folder.read_weights(options.base)[1]
    settings = {"upstream": f"trained by Tributary from {base['name']}", "license": base["license"], "pad_token_id": base["pad_token_id"],
                "max_length": options.max_length, "training": {"layers": options.layers, "teacher_epochs": options.teacher_epochs,
                                                               "student_epochs": options.student_epochs, "seed": options.seed}}
    head = [layer for layer in student.head if isinstance(layer, torch.nn.Linear)]
    model_folder.export(student.encoder, options.base / base["tokenizer_file"], options.output, settings, embeddings, head)
    (options.output / "README.md").write_text(card(data, figures, options), encoding="utf-8")
    say(f"{options.output}: tributary models add {options.output}")


def card(data, figures, options):
    """What the model is, what it was made from, and what it is worth."""
    sources = json.loads(Path(__file__).with_name("sources.json").read_text(encoding="utf-8"))["sources"]
    used = [one for one in sources if one["group"] in set(data.query_groups)]
    listed = [f"- {one['repository']} at {one['commit'][:12]}, {one['licence']}" for one in used] or [f"- questions of {options.data}"]
    return "\n".join([
        f"# {options.output.name}", "",
        f"A cross-encoder of {len(options.layers)} layers for tier 3 of Tributary, trained from {data.settings['name']} ({data.settings['license']}) on "
        f"{len(data.queries)} questions and {len(data.passages)} passages; teacher {options.teacher_epochs:g} and student {options.student_epochs:g} "
        f"epochs, at most {options.max_length} tokens, seed {options.seed}.", "",
        "## Data", "", *listed, "", "## Figures", "", *(f"- {line}" for line in figures), ""])


if __name__ == "__main__":
    main(OPTIONS)
