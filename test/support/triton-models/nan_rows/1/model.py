"""A text that holds nan-row, inf-row or zero-row gets such a vector; the other rows of its batch are good."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "stack-python"))

from faults import NanRows as TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
