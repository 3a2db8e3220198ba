#!/usr/bin/env python3
"""Writes the small models of `models/tests/data`, which stand in for kinds of models that are too large for a repository.

    pip install numpy onnx && python3 make_models.py

Every run writes the same bytes. The weights are random: the tests compare with what the arithmetic must give, not with meaning.
"""
import hashlib
import json
import pathlib

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent / "data"
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = "radio cell antenna power signal fault restart kernel memory page thread lock train model tensor a the of is how".split()
VOCABULARY = SPECIALS + WORDS
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def tokenizer():
    special = lambda name: {"id": name, "ids": [VOCABULARY.index(name)], "tokens": [name]}
    token = lambda name, kind: {"SpecialToken": {"id": name, "type_id": kind}}
    text = lambda name, kind: {"Sequence": {"id": name, "type_id": kind}}
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 6}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [{"id": i, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i, name in enumerate(SPECIALS)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [token("[CLS]", 0), text("A", 0), token("[SEP]", 0)],
            "pair": [token("[CLS]", 0), text("A", 0), token("[SEP]", 0), text("B", 1), token("[SEP]", 1)],
            "special_tokens": {name: special(name) for name in ("[CLS]", "[SEP]")},
        },
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {name: i for i, name in enumerate(VOCABULARY)}},
    }


def save(name, nodes, constants, inputs, output, shape, settings):
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, name,
        [tensor(i, TensorProto.INT64, ["batch", "length"]) for i in inputs],
        [tensor(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, key) for key, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    checker.check_model(model)
    write(name, model.SerializeToString(), settings)


def write(name, onnx_bytes, settings):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    tokens = (json.dumps(tokenizer(), separators=(",", ":")) + "\n").encode()
    (folder / "model.onnx").write_bytes(onnx_bytes)
    (folder / "tokenizer.json").write_bytes(tokens)
    checksums = {"model.onnx": hashlib.sha256(onnx_bytes).hexdigest(), "tokenizer.json": hashlib.sha256(tokens).hexdigest()}
    config = {"name": name, "kind": "embedding", "onnx_file": "model.onnx", "tokenizer_file": "tokenizer.json", "max_length": 16, "pad_token_id": 0, **settings, "sha256": checksums}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def embedding(name, hidden, settings, mix_in_mean):
    table = np.random.default_rng(hidden).standard_normal((len(VOCABULARY), hidden)).astype(np.float16)
    node = helper.make_node
    nodes = [node("Gather", ["table", "input_ids"], ["half"]), node("Cast", ["half"], ["tokens"], to=TensorProto.FLOAT)]
    constants = {"table": table}
    inputs = ["input_ids"]
    if mix_in_mean:
        inputs = ["input_ids", "attention_mask"]
        constants |= {"axis1": np.array([1], np.int64), "axis2": np.array([2], np.int64)}
        nodes += [
            node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            node("Unsqueeze", ["mask", "axis2"], ["wide_mask"]),
            node("Mul", ["tokens", "wide_mask"], ["masked"]),
            node("ReduceSum", ["masked", "axis1"], ["sum"], keepdims=1),
            node("Add", ["tokens", "sum"], ["last_hidden_state"]),
        ]
    else:
        nodes.append(node("Identity", ["tokens"], ["last_hidden_state"]))
    save(name, nodes, constants, inputs, "last_hidden_state", ["batch", "length", hidden], {"hidden_size": hidden, "output": "last_hidden_state", **settings})


def cross_encoder():
    """logit = 2 * (words that both texts hold) - 3"""
    words = np.eye(len(VOCABULARY), dtype=np.float32)
    words[: len(SPECIALS)] = 0
    node = helper.make_node
    constants = {"words": words, "one": np.float32(1), "two": np.float32(2), "three": np.float32(3), "axis1": np.array([1], np.int64), "axis2": np.array([2], np.int64)}
    nodes = [
        node("Gather", ["words", "input_ids"], ["tokens"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Cast", ["token_type_ids"], ["type"], to=TensorProto.FLOAT),
        node("Sub", ["one", "type"], ["not_type"]),
        node("Mul", ["mask", "not_type"], ["first"]),
        node("Mul", ["mask", "type"], ["second"]),
        node("Unsqueeze", ["first", "axis1"], ["first_row"]),
        node("Unsqueeze", ["second", "axis1"], ["second_row"]),
        node("MatMul", ["first_row", "tokens"], ["first_words"]),
        node("MatMul", ["second_row", "tokens"], ["second_words"]),
        node("Mul", ["first_words", "second_words"], ["both"]),
        node("ReduceSum", ["both", "axis2"], ["shared"], keepdims=0),
        node("Mul", ["shared", "two"], ["doubled"]),
        node("Sub", ["doubled", "three"], ["logits"]),
    ]
    save("tiny-cross-encoder", nodes, constants, INPUTS, "logits", ["batch", 1], {"kind": "reranker", "output": "logits", "max_length": 12})


embedding("tiny-matryoshka", 768, {"pooling": "mean", "matryoshka_dimensions": [384, 256], "query_prefix": "how ", "passage_prefix": ""}, False)
embedding("tiny-cls", 16, {"pooling": "cls"}, True)
embedding("tiny-wrong-dimension", 24, {"pooling": "mean", "hidden_size": 32}, False)
write("tiny-broken", b"this is not a model", {"hidden_size": 8, "pooling": "mean"})
cross_encoder()
