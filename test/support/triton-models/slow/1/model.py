"""300 ms an execution, and a queue of 4 requests: more are refused with UNAVAILABLE "Exceeds maximum queue size"."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "stack-python"))

from faults import Slow as TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
