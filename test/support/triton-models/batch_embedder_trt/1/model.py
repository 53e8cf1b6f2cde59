"""Pool C, batch ingestion, on the CPU under its GPU name. Requests are batched though their lengths differ."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "stack-python"))

from minilm import Embedder as TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
