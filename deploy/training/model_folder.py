"""Model folders of Tributary as PyTorch models, and back: BERT encoders with int8 ONNX weights.

The ONNX graph is that of deploy/models/build_e5_onnx.py: int8 weights with one scale per output channel, activations quantised per token, so that
a text's vector does not depend on its batch; word embeddings in 4-bit blocks of 32.
"""
import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "models"))
import build_e5_onnx  # noqa: E402

BLOCK = build_e5_onnx.BLOCK
ONNX_FILE = "model_int8.onnx"
# Our names of a layer's linear parts → names in BertModel.
LINEAR = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value", "ao": "attention.output.dense",
          "fi": "intermediate.dense", "fo": "output.dense"}
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


def is_model_folder(folder):
    file = Path(folder) / "config.json"
    return file.is_file() and "onnx_file" in json.loads(file.read_text(encoding="utf-8"))


# ---- from ONNX -------------------------------------------------------------------------------------------------------------------------------

def read_weights(folder):
    """State of a BertModel, and the 4-bit blocks of the word embeddings as they are stored."""
    import onnx
    from onnx import numpy_helper

    settings = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    graph = onnx.load(str(Path(folder) / settings["onnx_file"])).graph
    stored = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    try:
        return state_of(stored, settings["num_hidden_layers"])
    except KeyError as missing:
        raise SystemExit(f"finetune: the weights in {folder} cannot be read, they have no {missing}: only models that deploy/models/fetch of this "
                         "version and this script made can be trained further; make the model again with deploy/models/fetch, or name a Hugging "
                         "Face folder (config.json, model.safetensors, tokenizer.json)") from None


def state_of(stored, layers):
    """State of a BertModel of the tensors of an ONNX file, and the blocks of its word embeddings; `KeyError` for a tensor that is not there."""
    import torch

    state = {}
    nibbles, scales = stored["emb.word.q4"], stored["emb.word.scale"]
    levels = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
    state["embeddings.word_embeddings.weight"] = (levels * scales.astype(np.float32)).reshape(nibbles.shape[0], -1)
    state["embeddings.position_embeddings.weight"] = stored["emb.pos"]
    state["embeddings.token_type_embeddings.weight"] = stored["emb.type"]
    state["embeddings.LayerNorm.weight"], state["embeddings.LayerNorm.bias"] = stored["emb.ln.w"], stored["emb.ln.b"]
    for layer in range(layers):
        ours, theirs = f"l{layer}.", f"encoder.layer.{layer}."
        for parts in (("q", "k", "v"), ("ao",), ("fi",), ("fo",)):
            label = "+".join(ours + part for part in parts)
            weight = stored[label + ".q8"].T.astype(np.float32) * stored[label + ".scale"][:, None]
            for part, rows, bias in zip(parts, np.split(weight, len(parts)), np.split(stored[label + ".b"], len(parts))):
                state[theirs + LINEAR[part] + ".weight"], state[theirs + LINEAR[part] + ".bias"] = rows, bias
        for part, name in NORMS.items():
            state[theirs + name + ".weight"], state[theirs + name + ".bias"] = stored[ours + part + ".w"], stored[ours + part + ".b"]
    return {name: torch.tensor(np.ascontiguousarray(value)) for name, value in state.items()}, (nibbles.tobytes(), scales.tobytes())


def write_hugging_face(folder, target):
    """Writes a model folder as a Hugging Face folder, and gives the stored word embeddings."""
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    settings = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    state, embeddings = read_weights(folder)
    config = BertConfig(
        vocab_size=state["embeddings.word_embeddings.weight"].shape[0], hidden_size=settings["hidden_size"],
        num_hidden_layers=settings["num_hidden_layers"], num_attention_heads=settings["num_attention_heads"],
        intermediate_size=settings["intermediate_size"], max_position_embeddings=state["embeddings.position_embeddings.weight"].shape[0],
        type_vocab_size=state["embeddings.token_type_embeddings.weight"].shape[0], layer_norm_eps=settings.get("layer_norm_eps", 1e-12),
        pad_token_id=settings["pad_token_id"])
    model = BertModel(config, add_pooling_layer=False)
    missing = model.load_state_dict(state, strict=False)
    if missing.unexpected_keys or [key for key in missing.missing_keys if "position_ids" not in key]:
        raise SystemExit(f"finetune: weights of {folder} do not fit: {missing}")
    model.save_pretrained(target)
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(Path(folder) / settings["tokenizer_file"]))
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(settings["pad_token_id"])
    tokenizer.model_max_length = settings["max_length"]
    tokenizer.save_pretrained(target)
    return embeddings


# ---- to ONNX ---------------------------------------------------------------------------------------------------------------------------------


class TorchWeights:
    """A BERT encoder as build_e5_onnx.build wants it."""

    name = "multilingual-e5-small"

    def __init__(self, encoder, embeddings=None, head=None):
        config = encoder.config
        if config.model_type not in ("bert", "roberta", "xlm-roberta"):
            raise SystemExit(f"finetune: a model of type `{config.model_type}` cannot be exported, only encoders of type bert, roberta and xlm-roberta")
        if config.hidden_size % BLOCK or getattr(config, "hidden_act", "gelu") != "gelu":
            raise SystemExit("finetune: only encoders with GELU whose vectors have a multiple of 32 dimensions can be exported")
        self.state = {name: value.detach().float().cpu().numpy() for name, value in encoder.state_dict().items()}
        self.hidden, self.layers, self.heads = config.hidden_size, config.num_hidden_layers, config.num_attention_heads
        self.feed_forward, self.vocabulary, self.epsilon = config.intermediate_size, config.vocab_size, config.layer_norm_eps
        # RoBERTa counts positions from behind the id of the padding token.
        first = 0 if config.model_type == "bert" else config.pad_token_id + 1
        self.position_rows = self.state["embeddings.position_embeddings.weight"][first:]
        self.positions = len(self.position_rows)
        self.embeddings = embeddings
        # Linear layers of PyTorch are [outputs, inputs]; the graph multiplies by [inputs, outputs].
        self.head = {f"head.{at}.{kind}": value.detach().float().cpu().numpy() for at, layer in enumerate(head or [])
                     for kind, value in (("w", layer.weight.T), ("b", layer.bias))}

    def array(self, name):
        fixed = {"emb.pos": None, "emb.type": "embeddings.token_type_embeddings.weight", "emb.ln.w": "embeddings.LayerNorm.weight",
                 "emb.ln.b": "embeddings.LayerNorm.bias"}
        if name == "emb.pos":
            return self.position_rows
        if name in fixed:
            return self.state[fixed[name]]
        if name in self.head:
            return self.head[name]
        layer, part, kind = name[1:].split(".")
        theirs = LINEAR.get(part) or NORMS[part]
        return self.state[f"encoder.layer.{layer}.{theirs}.{'weight' if kind == 'w' else 'bias'}"]

    def raw_floats(self, name):
        return np.ascontiguousarray(self.array(name), dtype=np.float32).tobytes()

    def quantised(self, name, rows, columns):
        weight = self.array(name).reshape(rows, columns)
        scales = np.maximum(np.abs(weight).max(axis=1) / 127, 1e-12).astype(np.float32)
        levels = np.clip(np.round(weight / scales[:, None]), -127, 127).astype(np.int8)
        return levels.tobytes(), scales

    def split_blocks(self, name, rows, columns):
        """Stored embeddings that were not trained, else blocks of 4 bits: the largest value of a block is level 0, 8 is nothing."""
        if self.embeddings:
            return self.embeddings
        blocks = self.state["embeddings.word_embeddings.weight"].reshape(rows, columns // BLOCK, BLOCK)
        largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=-1)[..., None], axis=-1)
        scales = (largest / -8).astype(np.float16)
        divisors = np.where(scales == 0, 1, scales.astype(np.float32))
        levels = np.clip(np.round(blocks / divisors) + 8, 0, 15).astype(np.uint8)
        return (levels[..., :16] | levels[..., 16:] << 4).tobytes(), scales.tobytes()


def export(encoder, tokenizer_file, folder, settings, embeddings=None, head=None):
    """Writes a model folder; `settings` are those of config.json that the weights do not say. With a `head`, two linear layers with a tanh between
    them that make one logit of the first token, it is a cross-encoder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = TorchWeights(encoder, embeddings, head)
    (folder / ONNX_FILE).write_bytes(build_e5_onnx.build(weights, head_of_first_token=bool(head)))
    if Path(tokenizer_file).resolve() != (folder / "tokenizer.json").resolve():
        shutil.copy(tokenizer_file, folder / "tokenizer.json")
    config = {
        "name": folder.name, **settings, "model_type": "bert", "kind": "reranker" if head else "embedding", "onnx_file": ONNX_FILE, "tokenizer_file": "tokenizer.json",
        "inputs": ["input_ids", "attention_mask", "token_type_ids"], "input_dtype": "int64", "output": "logits" if head else "last_hidden_state",
        "hidden_size": weights.hidden, "num_hidden_layers": weights.layers, "num_attention_heads": weights.heads,
        "intermediate_size": weights.feed_forward, "vocab_size": weights.vocabulary, "layer_norm_eps": weights.epsilon,
        "max_position_embeddings": weights.positions, "max_length": min(settings["max_length"], weights.positions), "normalize": True,
        "quantization": "linear weights int8 per output channel, activations uint8 per token (dynamic), word embeddings 4-bit blocks of 32",
        "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (ONNX_FILE, "tokenizer.json")},
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return config


# ---- asking an exported model ----------------------------------------------------------------------------------------------------------------

class Encoder:
    """Unit vectors of texts by a model folder, as Tributary makes them."""

    def __init__(self, folder, threads=0):
        import onnxruntime
        from tokenizers import Tokenizer

        self.settings = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(Path(folder) / self.settings["onnx_file"]), options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / self.settings["tokenizer_file"]))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.settings["max_length"])

    def encode(self, texts, role, batch=16):
        """Array [texts, dimensions]; `role` is `query` or `passage`."""
        prefix = self.settings.get(role + "_prefix", "")
        encoded = [self.tokenizer.encode(prefix + text).ids for text in texts]
        order = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
        vectors = np.zeros((len(texts), self.settings["hidden_size"]), dtype=np.float32)
        for start in range(0, len(order), batch):
            some = order[start:start + batch]
            width = max(len(encoded[at]) for at in some)
            ids = np.full((len(some), width), self.settings.get("pad_token_id", 0), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, at in enumerate(some):
                ids[row, :len(encoded[at])], mask[row, :len(encoded[at])] = encoded[at], 1
            states = self.session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
            pooled = states[:, 0] if self.settings.get("pooling") == "cls" else (states * mask[..., None]).sum(1) / mask.sum(1)[:, None]
            vectors[some] = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
            if sys.stderr.isatty():
                print(f"\r  {role} {min(start + batch, len(order))}/{len(order)}", end="", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print(file=sys.stderr)
        return vectors
