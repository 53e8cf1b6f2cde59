"""NVIDIA's asyncio client, used as its examples do: one client, one infer() a query. Reads and writes as measure.mjs does."""

import array
import asyncio
import json
import resource
import struct
import sys
import time

import numpy as np
import tritonclient.grpc.aio as triton

SPEC = json.loads(sys.argv[1])


async def main():
    client = triton.InferenceServerClient(SPEC["target"])
    outputs = [triton.InferRequestedOutput("EMBEDDING")]
    times = array.array("I")
    errors = {}

    async def call(index):
        text = np.array([[f"how do I rotate the signing keys of cluster number {index} safely".encode()]], dtype=np.object_)
        tensor = triton.InferInput("TEXT", [1, 1], "BYTES")
        tensor.set_data_from_numpy(text)
        answer = await client.infer(SPEC["model"], [tensor], outputs=outputs, client_timeout=5)
        assert answer.as_numpy("EMBEDDING").size > 0

    async def one(index, from_ns):
        try:
            await call(index)
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            name = type(error).__name__
            errors[name] = errors.get(name, 0) + 1
        times.append(round((time.monotonic_ns() - from_ns) / 1000))

    for index in range(100):
        await call(index)
    print("ready", flush=True)
    if SPEC["mode"] == "open":
        elapsed_s, cpu_s = await open_loop(one)
    else:
        elapsed_s, cpu_s = await closed_loop(one)
    with open(f"{SPEC['out']}.embed", "wb") as file:
        times.tofile(file)
    await client.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"calls": len(times), "errors": errors, "names": ["embed"], "elapsedS": elapsed_s, "cpuUs": cpu_s * 1e6, "maxRssMb": peak}))


async def open_loop(one):
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running = set()
    sent = 0
    rest = b""
    started, cpu = time.monotonic(), time.process_time()
    while data := await reader.read(65536):
        if sent == 0:
            started, cpu = time.monotonic(), time.process_time()
        data = rest + data
        whole = len(data) - len(data) % 8
        for (stamp,) in struct.iter_unpack("<Q", data[:whole]):
            task = asyncio.ensure_future(one(sent, stamp))
            running.add(task)
            task.add_done_callback(running.discard)
            sent += 1
        rest = data[whole:]
    while running:
        await asyncio.wait(running)
    return time.monotonic() - started, time.process_time() - cpu


async def closed_loop(one):
    started, cpu = time.monotonic(), time.process_time()
    end_ns = time.monotonic_ns() + int(SPEC["seconds"] * 1e9)
    sent = 0

    async def caller():
        nonlocal sent
        while (now := time.monotonic_ns()) < end_ns:
            sent += 1
            await one(sent, now)

    await asyncio.gather(*(caller() for _ in range(SPEC["callers"])))
    return time.monotonic() - started, time.process_time() - cpu


asyncio.run(main())
