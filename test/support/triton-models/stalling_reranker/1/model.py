"""Scores pairs at once, unless a query holds stall: then 200 ms an execution, with a queue of 4 requests."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "stack-python"))

from faults import StallingScorer as TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
