"""What a tokenizer graph costs beside Hugging Face's Rust library, both on one thread of this process.

usage: tokenizer-speed.py SPEC.json > result.json

SPEC: library, graph, tokenizer, rounds, and batches: a name and its texts each. In a round every batch goes through the graph
and through the library in turn; what is counted is CPU time of the process, since wall time is also that of its neighbours.
The library is asked for whole batches, cut and padded: encode_batch, and encode_batch_fast, which keeps no offsets.
"""

import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

WARM_UP = 2


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    options = ort.SessionOptions()
    options.register_custom_ops_library(spec["library"])
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(spec["graph"], options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(spec["tokenizer"])
    tokenizer.enable_truncation(512)
    tokenizer.enable_padding()
    ways = {
        "graph": lambda texts: session.run(None, {"TEXT": np.array(texts, dtype=object).reshape(-1, 1)}),
        "encode_batch": tokenizer.encode_batch,
        "encode_batch_fast": tokenizer.encode_batch_fast,
    }
    taken = {name: {way: [] for way in ways} for name in spec["batches"]}
    for turn in range(WARM_UP + spec["rounds"]):
        for name, texts in spec["batches"].items():
            for way, run in ways.items():
                before = time.process_time()
                run(texts)
                if turn >= WARM_UP:
                    taken[name][way].append(time.process_time() - before)
    json.dump({"cpuSeconds": taken, "onnxruntime": ort.__version__}, sys.stdout)


main()
