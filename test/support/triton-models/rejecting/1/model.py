"""A text that holds reject-request fails its request; one that holds crash-stub ends the process of the model."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "stack-python"))

from faults import Rejecting as TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
