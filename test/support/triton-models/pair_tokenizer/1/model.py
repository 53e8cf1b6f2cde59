"""Tokenizes query and passage apart, since the scorer compares their embeddings."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "stack-python"))

from minilm import PairTokenizer as TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
