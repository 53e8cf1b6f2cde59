"""An exported encoder in Triton's python backend, on the CPU: the form of a GPU pipeline that runs without a GPU.

1/model.onnx is what export-onnx wrote: ids and mask in, EMBEDDING or SCORE out. Answers have the type that config.pbtxt
says, so that FP16 vectors come from an FP32 graph. Needs numpy and onnxruntime in the server's Python.
"""

import json
import os

import numpy as np
import onnxruntime
import triton_python_backend_utils as triton

# Small batches of like length are the fastest on a CPU: the work of a batch stays in its caches.
MICRO_BATCH = 4
MAX_THREADS = 4


class Encoder:
    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(MAX_THREADS, len(os.sched_getaffinity(0)))
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = [entry.name for entry in self.session.get_inputs()]

    def encode(self, rows):
        """[{input name: tokens of one row}] to one answer a row, in their order. Padding behind the last token is cut off."""
        lengths = [unpadded(row["attention_mask"]) for row in rows]
        order = sorted(range(len(rows)), key=lengths.__getitem__)
        answers = [None] * len(rows)
        for start in range(0, len(order), MICRO_BATCH):
            indices = order[start : start + MICRO_BATCH]
            width = lengths[indices[-1]]
            feed = {name: np.stack([fitted(rows[index][name], width) for index in indices]) for name in self.inputs}
            for index, answer in zip(indices, self.session.run(None, feed)[0], strict=True):
                answers[index] = answer
        return answers


def unpadded(mask):
    used = np.flatnonzero(mask)
    return int(used[-1]) + 1 if len(used) else 1


def fitted(tokens, width):
    """Cut, or filled up with [PAD] (whose mask is 0 like its id): requests differ in width."""
    row = np.zeros(width, np.int64)
    row[: min(width, len(tokens))] = tokens[:width]
    return row


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.output = config["output"][0]["name"]
        self.dtype = triton.triton_string_to_numpy(config["output"][0]["data_type"])
        self.names = [entry["name"] for entry in config["input"]]
        self.encoder = Encoder(os.path.join(args["model_repository"], args["model_version"], "model.onnx"))

    def execute(self, requests):
        rows, counts = [], []
        for request in requests:
            columns = [triton.get_input_tensor_by_name(request, name).as_numpy() for name in self.names]
            counts.append(len(columns[0]))
            rows += [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]
        answers = np.asarray(self.encoder.encode(rows)).astype(self.dtype)
        parts = np.split(answers, np.cumsum(counts)[:-1])
        tensors = [triton.Tensor(self.output, np.ascontiguousarray(part)) for part in parts]
        return [triton.InferenceResponse([tensor]) for tensor in tensors]
