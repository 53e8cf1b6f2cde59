"""SCORE of a pair: the cosine of the embedder's vectors of query and passage. It stands for a cross-encoder, which is
bundled nowhere in a size fit for tests, and ranks by meaning as one does.

Its tensors are those of a cross-encoder: a row is [CLS] query [SEP] passage [SEP], and the types tell the sides apart. The
embedder has 512 positions, so each side is cut to them.
"""

import os
import sys

import numpy as np
import triton_python_backend_utils as triton

sys.path.insert(0, os.path.dirname(__file__))

from encoder import Encoder  # noqa: E402

MAX_TOKENS = 512


class TritonPythonModel:
    def initialize(self, args):
        self.encoder = Encoder(os.path.join(args["model_repository"], args["model_version"], "embedder.onnx"))

    def execute(self, requests):
        rows, counts = [], []
        for request in requests:
            names = ("input_ids", "attention_mask", "token_type_ids")
            ids, mask, types = [triton.get_input_tensor_by_name(request, name).as_numpy() for name in names]
            counts.append(len(ids))
            rows += [sides(*row) for row in zip(ids, mask, types, strict=True)]
        queries = self.embed_distinct([query for query, _ in rows])
        passages = np.asarray(self.encoder.encode([as_row(passage) for _, passage in rows]))
        scores = (queries * passages).sum(axis=1, keepdims=True).astype(np.float32)
        parts = np.split(scores, np.cumsum(counts)[:-1])
        return [triton.InferenceResponse([triton.Tensor("SCORE", np.ascontiguousarray(part))]) for part in parts]

    def embed_distinct(self, sides):
        """The candidates of one search share their query: each distinct one is computed once."""
        keys = [side.tobytes() for side in sides]
        distinct = dict(zip(keys, sides))
        vectors = dict(zip(distinct, self.encoder.encode([as_row(side) for side in distinct.values()])))
        return np.asarray([vectors[key] for key in keys])


def sides(ids, mask, types):
    """Ids of query and passage, each with [CLS] before and [SEP] behind it. A row of nothing but padding has neither."""
    used = mask == 1
    query, passage = ids[used & (types == 0)], ids[used & (types == 1)]
    return cut(query), cut(np.concatenate([query[:1], passage]))


def cut(ids):
    return ids if len(ids) <= MAX_TOKENS else np.concatenate([ids[: MAX_TOKENS - 1], ids[-1:]])


def as_row(ids):
    """No token at all, as in a warm-up, is a [PAD] that is masked."""
    if len(ids) == 0:
        return {name: np.zeros(1, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
    zeros = np.zeros_like(ids)
    return {"input_ids": ids, "attention_mask": zeros + 1, "token_type_ids": zeros}
