"""Vectors by the whole chain in the onnxruntime of Python: texts, a tokenizer graph, an embedder graph.

usage: chain-embeddings.py SPEC.json > result.json

SPEC: library (the operators), tokenizer and embedder (graphs), batches: lists of texts. The result has for each batch the ids
and masks that the tokenizer graph gave and the vectors of the embedder, as numbers.
"""

import json
import sys

import numpy as np
import onnxruntime as ort


def open_graph(path, library=None):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if library:
        options.register_custom_ops_library(library)
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    tokenizer = open_graph(spec["tokenizer"], spec["library"])
    embedder = open_graph(spec["embedder"])
    result = []
    for texts in spec["batches"]:
        column = np.array(texts, dtype=object).reshape(-1, 1)
        ids, mask, types = tokenizer.run(["INPUT_IDS", "ATTENTION_MASK", "TOKEN_TYPE_IDS"], {"TEXT": column})
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        (vectors,) = embedder.run(["EMBEDDING"], feed)
        result.append({"ids": ids.tolist(), "mask": mask.tolist(), "vectors": vectors.astype(np.float32).tolist()})
    json.dump(result, sys.stdout)


main()
