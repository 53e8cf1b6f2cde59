"""An exported encoder in Triton's python backend, on the CPU: the form of a GPU pipeline that runs without a GPU.

1/model.onnx is what export-onnx wrote: ids and mask in, EMBEDDING or SCORE out. Answers have the type that config.pbtxt
says, so that FP16 vectors come from an FP32 graph. Needs numpy and onnxruntime in the server's Python.
"""

import json
import os

import numpy as np
import onnxruntime
import triton_python_backend_utils as triton

MAX_THREADS = 4


class Encoder:
    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(MAX_THREADS, len(os.sched_getaffinity(0)))
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = [entry.name for entry in self.session.get_inputs()]

    def encode(self, rows):
        """[{input name: tokens of one row}] to one answer a row, in their order.

        Each row runs alone and without its padding. On a CPU a batch gains little, and onnxruntime sums one row in another
        order than several: so an answer is the same to the last bit whichever rows share a request.
        """
        return [self.answer(row, unpadded(row["attention_mask"])) for row in rows]

    def answer(self, row, width):
        return self.session.run(None, {name: row[name][None, :width] for name in self.inputs})[0][0]


def unpadded(mask):
    used = np.flatnonzero(mask)
    return int(used[-1]) + 1 if len(used) else 1


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
