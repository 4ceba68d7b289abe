# SPDX-License-Identifier: Apache-2.0
"""What the recorder costs, by batch size, on real schedulers without a model.

    PYTHONPATH=<patched vLLM>:<folder of test_opprof.py> python bench_opprof.py

Foreground is the recorder's own clock in the serving thread. Writer is the CPU
time of its thread, which holds the GIL for most of it. Loop is the CPU time of
one schedule() and update_from_output() in the serving thread.

Warm steps follow each other at once. In a server the worker runs in between and
takes the processor's caches: cold steps follow other Python code and 32 MiB of
other memory.
"""

import contextlib
import importlib.util
import inspect
import io
import os
import pathlib
import statistics
import tempfile
import time
import tokenize

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

import vllm.version  # noqa: E402
from test_opprof import GRAPH, Engine  # noqa: E402
from vllm.v1 import opprof  # noqa: E402
from vllm.v1.core.sched.scheduler import Scheduler  # noqa: E402

BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
COLD_BATCHES = [1, 64, 512]
STEPS = 400
ROUNDS = 60
ROUND_STEPS = 50
FOREVER = 100_000
OTHER_MEMORY = bytearray(32 << 20)
OTHER_CODE = inspect.getsource(statistics)[:4000]


def decoding(folder, size, **options):
    """An engine in which size requests of 20 to 4,000 tokens all decode."""
    engine = Engine(folder, blocks=400_000, requests=1100, **options)
    for i in range(size):
        engine.add(f"r{i}", 20 + 977 * i % 3980, FOREVER)
    scheduler = engine.scheduler
    while scheduler.waiting or any(r.is_prefill_chunk for r in scheduler.running):
        engine.step(GRAPH)
    return engine


def drive(engine, steps, arrivals, between=lambda: None):
    """CPU microseconds per turn; a new request every `arrivals` turns."""
    busy = 0.0
    for i in range(steps):
        between()
        if arrivals and i % arrivals == 0:
            engine.add(f"n{i}", 300, outputs=2 * arrivals)
        start = time.thread_time()
        engine.step(GRAPH)
        busy += time.thread_time() - start
    return busy / steps * 1e6


def take_the_caches():
    OTHER_MEMORY.count(0)
    with contextlib.suppress(tokenize.TokenError):
        for _ in tokenize.generate_tokens(io.StringIO(OTHER_CODE).readline):
            pass


def foreground(folder, arrivals, batches=BATCHES, between=lambda: None):
    print("batch     p50     p95     p99  writer     loop  us")
    for size in batches:
        engine = decoding(folder, size, batches=2)
        recorder = engine.recorder
        thread = time.pthread_getcpuclockid(recorder._writer._thread.ident)
        recorder._costs.clear()
        busy = time.clock_gettime(thread)
        loop = drive(engine, STEPS, arrivals, between)
        while recorder._writer._queue:
            time.sleep(opprof.FLUSH_SECONDS)
        busy = (time.clock_gettime(thread) - busy) / STEPS * 1e6
        cost = opprof.percentiles(recorder._costs)
        p50, p95, p99 = (cost[p] / 1000 for p in ("p50", "p95", "p99"))
        print(f"{size:5} {p50:7.1f} {p95:7.1f} {p99:7.1f} {busy:7.1f} {loop:8.1f}")
        engine.scheduler.shutdown()


def unpatched_scheduler():
    """The Scheduler class of the files that the patched package links to."""
    package = pathlib.Path(vllm.version.__file__).resolve().parent
    source = package / "v1/core/sched/scheduler.py"
    if "opprof" in source.read_text():
        return None
    spec = importlib.util.spec_from_file_location("unpatched_scheduler", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Scheduler


def off_and_on(folder):
    """Loop time of the arms, taken in turns: slow drifts hit all of them."""
    arms = {"off": (Scheduler, ""), "on": (Scheduler, str(folder / "records"))}
    if unpatched := unpatched_scheduler():
        arms = {"unpatched": (unpatched, ""), "off again": (Scheduler, "")} | arms
    else:
        print("no unpatched scheduler beside this one: comparing off and on only")
    engines = {}
    for name, (cls, directory) in arms.items():
        os.environ["VLLM_OPPROF_DIR"] = directory
        engines[name] = decoding(folder, 64, scheduler_class=cls)
    times = {name: [] for name in arms}
    for turn in range(ROUNDS):
        order = list(arms) if turn % 2 else list(reversed(arms))
        for name in order:
            times[name].append(drive(engines[name], ROUND_STEPS, 0))
    for name in arms:
        ratios = [t / off for t, off in zip(times[name], times["off"])]
        low, middle, high = statistics.quantiles(ratios, n=4)
        median = statistics.median(times[name])
        print(f"{name:>9} {median:8.1f} us  x{middle:.4f} ({low:.4f} to {high:.4f})")
        engines[name].scheduler.shutdown()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["VLLM_OPPROF_DIR"] = str(folder / "records")
        print("steady decode: the same requests in every step, warm")
        foreground(folder, 0)
        print("\nmixed: a new request every third step, and as many that finish, warm")
        foreground(folder, 3)
        print("\nsteady decode, cold")
        foreground(folder, 0, COLD_BATCHES, take_the_caches)
        print("\nmixed, cold")
        foreground(folder, 3, COLD_BATCHES, take_the_caches)
        print("\n64 decoding requests, loop time against the patched package, off")
        off_and_on(folder)


main()
