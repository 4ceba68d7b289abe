# SPDX-License-Identifier: Apache-2.0
"""What the recorder costs the serving thread, on real schedulers without a model.

    python bench_opprof.py [RECORDER ...]

needs vLLM and this file. RECORDER is an opprof.py: several are measured in turns,
step by step in one run, so that what else the machine does hits all of them. Without
one it is vllm/v1/opprof.py of a patched vLLM, or else the opprof.py beside this file.

Foreground is the recorder's own clock. Writer is the CPU time of its thread, which
holds the GIL for most of it. Loop is the CPU time of one schedule() and
update_from_output() with the recorder, and off without it.

Warm steps follow each other at once. In a server the worker runs in between and
takes the processor's caches: before a cold step there is other Python code and
32 MiB of other memory.
"""

import contextlib
import importlib.util
import inspect
import io
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
import tokenize

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["VLLM_OPPROF_DIR"] = ""  # a patched vLLM does not record by itself

import torch  # noqa: E402

from vllm.compilation.cuda_graph import CUDAGraphStat  # noqa: E402
from vllm.config import (  # noqa: E402
    CacheConfig,
    ModelConfig,
    SchedulerConfig,
    VllmConfig,
)
from vllm.sampling_params import SamplingParams  # noqa: E402
from vllm.utils.hashing import sha256  # noqa: E402
from vllm.v1.core.kv_cache_utils import (  # noqa: E402
    get_request_block_hasher,
    init_none_hash,
)
from vllm.v1.core.sched.async_scheduler import AsyncScheduler  # noqa: E402
from vllm.v1.kv_cache_interface import (  # noqa: E402
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
)
from vllm.v1.outputs import EMPTY_MODEL_RUNNER_OUTPUT, ModelRunnerOutput  # noqa: E402
from vllm.v1.request import Request  # noqa: E402
from vllm.v1.structured_output import StructuredOutputManager  # noqa: E402

# Name, requests, steps between arrivals (0: nobody comes or goes), cold.
LOADS = [
    ("the same requests decode in every step", [1, 64, 1024], 0, False),
    ("one comes and one goes every third step", [8, 64, 128, 256, 512, 1024], 3, False),
    ("one comes and one goes every step", [8, 64, 128, 256], 1, False),
    ("the same requests decode in every step, cold", [64], 0, True),
    ("one comes and one goes every third step, cold", [64], 3, True),
    ("one comes and one goes every step, cold", [64], 1, True),
]
HEADING = "requests     p50     p95     p99    mean  writer     loop      off  us"
STEPS = 600
COLD_STEPS = 240
PROMPT = 512
FOREVER = 100_000
MAX_LENGTH = 131072
BLOCK = 16
MODEL = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 64,
    "intermediate_size": 64,
    "moe_intermediate_size": 32,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "num_hidden_layers": 1,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "vocab_size": 512,
    "max_position_embeddings": 262144,
}
GRAPH = CUDAGraphStat(
    num_unpadded_tokens=3, num_padded_tokens=4, num_paddings=1, runtime_mode="FULL"
)
OTHER_MEMORY = bytearray(32 << 20)
OTHER_CODE = inspect.getsource(statistics)[:4000]


class HookedScheduler(AsyncScheduler):
    """Calls the recorder where the patch does, in a vLLM that may not have it."""

    recorder = None

    def schedule(self, *args, **kwargs):
        if self.recorder is not None:
            self.recorder.begin()
        return super().schedule(*args, **kwargs)

    def _update_after_schedule(self, output):
        if self.recorder is not None:
            self.recorder.snapshot(output)
        super()._update_after_schedule(output)

    def update_from_output(self, output, answer):
        outputs = super().update_from_output(output, answer)
        if self.recorder is not None:
            self.recorder.finalize(output, answer.cudagraph_stats)
        return outputs


class Engine:
    """A scheduler whose model answers token 7 to everything, with a step in flight."""

    def __init__(self, folder, recorder, size, period):
        config = VllmConfig(
            model_config=ModelConfig(
                str(folder), skip_tokenizer_init=True, max_model_len=MAX_LENGTH
            ),
            scheduler_config=SchedulerConfig(
                max_model_len=MAX_LENGTH,
                is_encoder_decoder=False,
                max_num_seqs=1100,
                max_num_batched_tokens=8192,
                async_scheduling=True,
            ),
            cache_config=CacheConfig(block_size=BLOCK, enable_prefix_caching=True),
        )
        blocks = config.cache_config.num_gpu_blocks = 400_000
        spec = FullAttentionSpec(
            block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32
        )
        init_none_hash(sha256)
        self._hasher = get_request_block_hasher(BLOCK, sha256)
        self._in_flight = None
        self._size = size
        self._period = period
        self._added = 0
        self.scheduler = HookedScheduler(
            config,
            KVCacheConfig(blocks, [], [KVCacheGroupSpec(["layer"], spec)]),
            StructuredOutputManager(config),
            BLOCK,
            log_stats=True,
        )
        self.busy = self.turns = 0
        for i in range(size):
            # Where they come and go, one ends in every period from here on.
            outputs = (i + 4) * period if period else FOREVER
            self._add(20 + 977 * i % 3980, outputs)
        self._turn()
        while any(r.is_prefill_chunk for r in self.scheduler.running):
            self._turn()
        if recorder is not None:
            self.scheduler.recorder = recorder.StepRecorder(
                self.scheduler, str(folder / "records")
            )

    def _add(self, prompt, outputs):
        self._added += 1
        # Prompts differ from their first block on: none is in the cache.
        tokens = [self._added % 500, self._added // 500, *range(2, prompt)]
        params = SamplingParams(max_tokens=outputs, ignore_eos=True)
        params.update_from_generation_config({}, 2)
        self.scheduler.add_request(
            Request(f"{self._added}", tokens, params, None, block_hasher=self._hasher)
        )

    def turn(self):
        if self._period and self.turns % self._period == 0:
            self._add(PROMPT, self._size * self._period)
        self.turns += 1
        start = time.thread_time_ns()
        self._turn()
        self.busy += time.thread_time_ns() - start

    def _turn(self):
        output = self.scheduler.schedule()
        requests = self.scheduler.requests
        samples = {
            name: [] if requests[name].is_prefill_chunk else [7]
            for name in output.num_scheduled_tokens
        }
        previous, self._in_flight = self._in_flight, (output, samples)
        if previous is None:
            return
        output, samples = previous
        answer = EMPTY_MODEL_RUNNER_OUTPUT
        if samples:
            index = {name: i for i, name in enumerate(samples)}
            answer = ModelRunnerOutput(
                list(samples), index, list(samples.values()), cudagraph_stats=GRAPH
            )
        self.scheduler.update_from_output(output, answer)


def take_the_caches():
    OTHER_MEMORY.count(0)
    with contextlib.suppress(tokenize.TokenError):
        for _ in tokenize.generate_tokens(io.StringIO(OTHER_CODE).readline):
            pass


def measure(folder, recorders, size, period, cold):
    """One row for each recorder, and the loop's time without any."""
    arms = {"": None} | recorders
    engines = {name: Engine(folder, arm, size, period) for name, arm in arms.items()}
    writers = {}
    for name, recorder in recorders.items():
        scheduler = engines[name].scheduler
        scheduler.recorder._costs.clear()
        writer = scheduler.recorder._writer
        clock = time.pthread_getcpuclockid(writer._thread.ident)
        writers[name] = writer, clock, time.clock_gettime_ns(clock)
    order = list(engines.values())
    steps = COLD_STEPS if cold else max(100, min(STEPS, 60_000 // size))
    for i in range(steps):
        for engine in order if i % 2 else reversed(order):
            if cold:
                take_the_caches()
            engine.turn()
    off = engines[""].busy / steps / 1000
    for name, recorder in recorders.items():
        writer, clock, busy = writers[name]
        while writer._queue:
            time.sleep(recorder.FLUSH_SECONDS)
        busy = (time.clock_gettime_ns(clock) - busy) / steps / 1000
        loop = engines[name].busy / steps / 1000
        cost = recorder.percentiles(engines[name].scheduler.recorder._costs)
        costs = (f"{cost[p] / 1000:7.1f}" for p in ("p50", "p95", "p99", "mean"))
        print(
            f"{size:8}",
            *costs,
            f"{busy:7.1f} {loop:8.1f} {off:8.1f}  {name}",
            flush=True,
        )
    for engine in order:
        if engine.scheduler.recorder is not None:
            engine.scheduler.recorder.close()
        engine.scheduler.shutdown()


def load_recorders(paths):
    if not paths:
        beside = pathlib.Path(__file__).with_name("opprof.py")
        try:
            from vllm.v1 import opprof
        except ImportError:
            paths = [beside]
        else:
            return {"": opprof}
    recorders = {}
    for path in map(pathlib.Path, paths):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        recorders[str(path)] = module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    return recorders


def main():
    recorders = load_recorders(sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.json").write_text(json.dumps(MODEL))
        for title, sizes, period, cold in LOADS:
            print(f"\n{title}\n{HEADING}")
            for size in sizes:
                measure(folder, recorders, size, period, cold)


main()
