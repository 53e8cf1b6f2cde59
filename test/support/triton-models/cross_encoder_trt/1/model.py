"""Pool B, online reranking, under its GPU name. It scores by the cosine of the embedder: it stands for a cross-encoder."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "stack-python"))

from minilm import CosineScorer as TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
