"""Compares a tokenizer graph, run by onnxruntime, with Hugging Face's Rust library.

usage: tokenizer-parity.py SPEC.json > result.json

SPEC: library (the operators), graph, tokenizer (tokenizer.json), max_tokens, truncation, batches: lists of texts or of
[query, passage]. A text is a JSON string; all its ids, masks and types must be those of the library, padded to the
longest of its batch. Where the library refuses a pair, the graph must answer as with longest_first.
"""

import json
import sys

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer


def session(spec):
    options = ort.SessionOptions()
    options.register_custom_ops_library(spec["library"])
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(spec["graph"], options, providers=["CPUExecutionProvider"])


def reference(spec, strategy):
    tokenizer = Tokenizer.from_file(spec["tokenizer"])
    tokenizer.no_padding()
    tokenizer.enable_truncation(spec["max_tokens"], strategy=strategy)
    return tokenizer


def encoded(tokenizer, fallback, row):
    try:
        encoding = tokenizer.encode(*row)
        return encoding, 0
    except Exception:  # the library raises plain exceptions for a query that leaves the passage nothing
        return fallback.encode(*row), 1


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    graph = session(spec)
    tokenizer, fallback = reference(spec, spec["truncation"]), reference(spec, "longest_first")
    names = [entry.name for entry in graph.get_inputs()]
    compared, refused, different = 0, 0, []
    pad = spec.get("pad", 0)
    for index, batch in enumerate(spec["batches"]):
        rows = [row if isinstance(row, list) else [row] for row in batch]
        feed = {
            name: np.array([row[side] for row in rows], dtype=object).reshape(-1, 1) for side, name in enumerate(names)
        }
        ids, mask, types = graph.run(["INPUT_IDS", "ATTENTION_MASK", "TOKEN_TYPE_IDS"], feed)
        wanted = []
        for row in rows:
            encoding, count = encoded(tokenizer, fallback, row)
            wanted.append(encoding)
            refused += count
        width = max(len(encoding.ids) for encoding in wanted)
        if ids.shape != (len(rows), width) or mask.shape != ids.shape or types.shape != ids.shape:
            different.append({"batch": index, "row": -1, "shape": list(ids.shape), "wanted": [len(rows), width]})
            continue
        for at, encoding in enumerate(wanted):
            blank = width - len(encoding.ids)
            compared += 1
            if (
                ids[at].tolist() != encoding.ids + [pad] * blank
                or mask[at].tolist() != [1] * len(encoding.ids) + [0] * blank
                or types[at].tolist() != encoding.type_ids + [0] * blank
            ):
                got = ids[at][: int(mask[at].sum())].tolist()
                different.append({"batch": index, "row": at, "got": got[:16], "wanted": encoding.ids[:16]})
    json.dump({"compared": compared, "refused": refused, "different": different}, sys.stdout)


main()
