"""Models that misbehave on request. They compute no embedding: a text's vector is derived from its SHA-256, so that a test
can say what it must be, and is cheap."""

import hashlib
import json
import os
import time

import numpy as np
import triton_python_backend_utils as triton

DIMS = 384


def texts(request, name="TEXT"):
    return [value.decode("utf-8", "replace") for value in triton.get_input_tensor_by_name(request, name).as_numpy().reshape(-1)]


def hashed_vector(text):
    """A unit vector: byte i mod 32 of the text's SHA-256, minus 127.5, then L2."""
    digest = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8).astype(np.float32) - 127.5
    values = np.tile(digest, DIMS // len(digest))
    return values / np.linalg.norm(values)


def answer(vectors):
    return triton.InferenceResponse([triton.Tensor("EMBEDDING", np.array(vectors, np.float16).reshape(-1, DIMS))])


class Slow:
    """Takes `delay_ms` an execution, whatever its size."""

    def initialize(self, args):
        self.delay_s = float(json.loads(args["model_config"])["parameters"]["delay_ms"]["string_value"]) / 1000

    def execute(self, requests):
        time.sleep(self.delay_s)
        return [answer([hashed_vector(text) for text in texts(request)]) for request in requests]


class StallingScorer:
    """Scores a pair by the cosine of both hashes; a query that holds `stall` costs its execution `delay_ms`."""

    def initialize(self, args):
        self.delay_s = float(json.loads(args["model_config"])["parameters"]["delay_ms"]["string_value"]) / 1000

    def execute(self, requests):
        pairs = [list(zip(texts(request, "QUERY"), texts(request, "PASSAGE"))) for request in requests]
        if any("stall" in query for rows in pairs for query, _ in rows):
            time.sleep(self.delay_s)
        return [self._answer(rows) for rows in pairs]

    def _answer(self, rows):
        scores = [float(hashed_vector(query) @ hashed_vector(passage)) for query, passage in rows]
        return triton.InferenceResponse([triton.Tensor("SCORE", np.array(scores, np.float32).reshape(-1, 1))])


class NanRows:
    """A text that holds a marker gets a bad row; the other rows of its batch are good."""

    MARKERS = {"nan-row": np.nan, "inf-row": np.inf, "zero-row": 0.0}

    def execute(self, requests):
        return [answer([self._row(text) for text in texts(request)]) for request in requests]

    def _row(self, text):
        for marker, value in self.MARKERS.items():
            if marker in text:
                return np.full(DIMS, value, np.float32)
        return hashed_vector(text)


class Rejecting:
    """A text that holds `reject-request` fails its whole request; `crash-stub` ends the model's process."""

    def execute(self, requests):
        return [self._answer(texts(request)) for request in requests]

    def _answer(self, rows):
        if any("crash-stub" in text for text in rows):
            os._exit(1)
        if any("reject-request" in text for text in rows):
            return triton.InferenceResponse(error=triton.TritonError("the request holds a text that is refused"))
        return answer([hashed_vector(text) for text in rows])
