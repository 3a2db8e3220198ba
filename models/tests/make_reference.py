#!/usr/bin/env python3
"""Writes data/reference.json: what Python's onnxruntime and tokenizers give for multilingual-e5-small; the first 64 of 384 values each.

    pip install numpy onnxruntime tokenizers && python3 make_reference.py MODEL_FOLDER
"""
import json
import pathlib
import sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

model = pathlib.Path(sys.argv[1])
tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
tokenizer.enable_truncation(512)
session = onnxruntime.InferenceSession(str(model / "model_int8.onnx"))
texts = [
    ("query", "how do I configure neighbour cells"),
    ("query", "5G 基站的邻区关系怎么配置？"),
    ("passage", "ＭｉｎｄＳｐｏｒｅ 的 mindspore.nn.Conv2d 在 Ⅳ 级 ㎏ 单位下\tcafe\u0301\r\n第二行"),
    ("passage", ""),
    ("passage", "進程排程採用時間片輪轉演算法。"),
    ("passage", "emoji 👩‍👩‍👧 and <mask> tokens </s> inside"),
    ("passage", "LONG"),
]
rows = []
for role, text in texts:
    full = "很长的文本 " * 400 if text == "LONG" else text
    ids = np.array([tokenizer.encode(f"{role}: {full}").ids], np.int64)
    hidden = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})[0][0]
    vector = hidden.mean(0)
    vector /= np.linalg.norm(vector)
    rows.append([role, text, [round(float(value), 6) for value in vector[:64]]])
target = pathlib.Path(__file__).parent / "data/reference.json"
target.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")
