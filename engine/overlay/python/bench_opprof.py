# SPDX-License-Identifier: Apache-2.0
"""What the recorder costs the serving thread, by batch size.

    PYTHONPATH=<patched vLLM>:<folder of test_opprof.py> python bench_opprof.py
"""

import os
import pathlib
import resource
import tempfile
import time

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

from test_opprof import GRAPH, Engine  # noqa: E402

BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
STEPS = 400


def decode(engine, size):
    for i in range(size):
        engine.add(f"r{i}", 20 + 37 * i % 900, outputs=100_000)


def run(folder, size, mixed):
    engine = Engine(folder, batches=2, blocks=200_000, requests=1100, budget=8192)
    decode(engine, size)
    while any(r.is_prefill_chunk for r in engine.scheduler.running) or engine.scheduler.waiting:
        engine.step(GRAPH)
    for _ in range(5):
        engine.step(GRAPH)
    recorder = engine.scheduler.opprof
    if recorder: recorder._costs.clear()
    arrivals = 0
    started, cpu = time.perf_counter(), time.process_time()
    for i in range(STEPS):
        if mixed and i % 2 == 0:
            engine.add(f"n{arrivals}", 300, outputs=4)
            arrivals += 1
        engine.step(GRAPH)
    wall = (time.perf_counter() - started)/STEPS*1e6
    cpu = (time.process_time() - cpu)/STEPS*1e6
    from vllm.v1.opprof import percentiles
    cost = percentiles(recorder._costs) if recorder else {}
    engine.scheduler.shutdown()
    return cost, wall, cpu

def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        os.environ["VLLM_OPPROF_DIR"] = str(folder / "records")
        for mixed in (False, True):
            print("mixed" if mixed else "steady decode")
            for size in BATCHES:
                cost, wall, cpu = run(folder, size, mixed)
                print(f"{size:5} " + " ".join(f"{cost[k]/1000:7.1f}" for k in ("p50","p95","p99","max","mean")), f"wall {wall:8.1f} cpu {cpu:8.1f}")


main()
