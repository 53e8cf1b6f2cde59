"""300 ms an execution of one text; a request that waits longer than 400 ms is refused with "Request timeout expired"."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "stack-python"))

from faults import Slow as TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
