"""Tokenizes for both embedders; up to 512 tokens a text, padded to the longest of the request."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "stack-python"))

from minilm import TextTokenizer as TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
