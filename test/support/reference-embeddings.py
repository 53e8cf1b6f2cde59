"""Embeddings of MiniLM computed without this project: onnxruntime and tokenizers of Python.

usage: reference-embeddings.py MODEL_FOLDER < texts.json > vectors.json

MODEL_FOLDER holds model.onnx and tokenizer.json. Standard input is a JSON list of strings, standard output a JSON list
of vectors: up to 512 tokens, mean pooling with the mask, L2 norm, each text computed alone and in FP32.
"""

import json
import os
import sys

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

MAX_TOKENS = 512


def main() -> None:
    folder = sys.argv[1]
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    tokenizer.no_padding()
    session = ort.InferenceSession(os.path.join(folder, "model.onnx"), providers=["CPUExecutionProvider"])
    names = {entry.name for entry in session.get_inputs()}
    vectors = []
    for text in json.load(sys.stdin):
        encoding = tokenizer.encode(text)
        ids = np.array([encoding.ids], np.int64)
        mask = np.array([encoding.attention_mask], np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(["last_hidden_state"], {k: v for k, v in feed.items() if k in names})[0]
        weights = mask[:, :, None].astype(np.float32)
        pooled = ((hidden * weights).sum(1) / np.maximum(weights.sum(1), 1))[0]
        vectors.append((pooled / max(float(np.linalg.norm(pooled)), 1e-12)).tolist())
    json.dump(vectors, sys.stdout)


main()
