"""A Hugging Face tokenizer as a model of Triton's python backend: for tokenizers that a graph cannot follow exactly.

Needs numpy and tokenizers in the server's Python. The limit and how pairs are cut come from the parameters in
config.pbtxt; what the file says of lengths is read over, its sides and its padding token are not.
"""

import json
import os

import numpy as np
import triton_python_backend_utils as triton
from tokenizers import Tokenizer

PADDING_TOKENS = ("[PAD]", "<pad>")


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        parameters = {name: value["string_value"] for name, value in config["parameters"].items()}
        path = os.path.join(args["model_repository"], args["model_version"], "tokenizer.json")
        self.inputs = [entry["name"] for entry in config["input"]]
        limit = int(parameters["max_tokens"])
        self.tokenizer, self.pad, self.left = load(path, limit, parameters["truncation"])
        # only_second refuses a query that leaves the passage nothing; that one is cut as by longest_first.
        self.fallback = load(path, limit, "longest_first")[0]

    def execute(self, requests):
        """All requests get the width of the longest: only requests of one shape can share a batch of the encoder."""
        parts = []
        for request in requests:
            columns = [texts(request, name) for name in self.inputs]
            parts.append([self.encode(row) for row in zip(*columns, strict=True)])
        width = max((len(encoding.ids) for encodings in parts for encoding in encodings), default=0)
        return [self.answer(encodings, width) for encodings in parts]

    def answer(self, encodings, width):
        arrays = {
            "INPUT_IDS": np.full((len(encodings), width), self.pad["pad_id"], np.int64),
            "ATTENTION_MASK": np.zeros((len(encodings), width), np.int64),
            "TOKEN_TYPE_IDS": np.full((len(encodings), width), self.pad["pad_type_id"], np.int64),
        }
        for row, encoding in enumerate(encodings):
            count = len(encoding.ids)
            place = slice(width - count, width) if self.left else slice(count)
            arrays["INPUT_IDS"][row, place] = encoding.ids
            arrays["ATTENTION_MASK"][row, place] = 1
            arrays["TOKEN_TYPE_IDS"][row, place] = encoding.type_ids
        return triton.InferenceResponse([triton.Tensor(name, array) for name, array in arrays.items()])

    def encode(self, row):
        try:
            return self.tokenizer.encode(*row)
        except Exception:
            return self.fallback.encode(*row)


def load(path, limit, strategy):
    tokenizer = Tokenizer.from_file(path)
    side = (tokenizer.truncation or {}).get("direction", "right")
    padding = tokenizer.padding or {}
    pad_id = padding.get("pad_id")
    for token in PADDING_TOKENS:
        pad_id = tokenizer.token_to_id(token) if pad_id is None else pad_id
    if pad_id is None:
        raise ValueError(f"tokenizer.json names no padding token, and has none of {', '.join(PADDING_TOKENS)}")
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit, strategy=strategy, direction=side)
    pad = {"pad_id": pad_id, "pad_type_id": padding.get("pad_type_id", 0)}
    return tokenizer, pad, padding.get("direction") == "left"


def texts(request, name):
    """One string a row; bytes that are not UTF-8 become U+FFFD."""
    column = triton.get_input_tensor_by_name(request, name).as_numpy()
    return [value.decode("utf-8", "replace") for value in column.reshape(-1)]
