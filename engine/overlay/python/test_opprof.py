# SPDX-License-Identifier: Apache-2.0
"""OpProf's recorder, driven by real schedulers on a CPU."""

import errno
import json
import multiprocessing
import os
import random
import shutil
import signal
import stat
import sys
import threading
from collections import Counter
from copy import copy
from types import SimpleNamespace
from unittest import mock

import pytest
import torch

from vllm import envs
from vllm.compilation.cuda_graph import CUDAGraphStat
from vllm.config import (
    CacheConfig,
    CUDAGraphMode,
    ModelConfig,
    SchedulerConfig,
    VllmConfig,
)
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1 import opprof
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.interface import PauseState
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine.core import EngineCore
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
)
from vllm.v1.outputs import EMPTY_MODEL_RUNNER_OUTPUT, ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.utils import compute_iteration_details

BLOCK = 16
MAX_LENGTH = 131072
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
LOADS = int(os.environ.get("OPPROF_TEST_LOADS", "32"))
TIMES = ("submit_wall", "submit_mono", "complete_mono")
KINDS = ("first", "middle", "final", "unsplit")
GRAPH = CUDAGraphStat(
    num_unpadded_tokens=3, num_padded_tokens=4, num_paddings=1, runtime_mode="FULL"
)


class Engine:
    """A real scheduler whose model answers token 7 to everything."""

    def __init__(self, folder, batches=1, blocks=10_000, budget=8192, **options):
        model = folder / "model"
        model.mkdir(exist_ok=True)
        (model / "config.json").write_text(json.dumps(MODEL))
        config = VllmConfig(
            model_config=ModelConfig(
                str(model), skip_tokenizer_init=True, max_model_len=MAX_LENGTH
            ),
            scheduler_config=SchedulerConfig(
                max_model_len=MAX_LENGTH,
                is_encoder_decoder=False,
                max_num_seqs=options.get("requests", min(64, budget)),
                max_num_batched_tokens=budget,
                async_scheduling=batches > 1,
            ),
            cache_config=CacheConfig(
                block_size=BLOCK, enable_prefix_caching=options.get("caching", False)
            ),
        )
        config.cache_config.num_gpu_blocks = blocks
        spec = FullAttentionSpec(
            block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32
        )
        init_none_hash(sha256)
        self.hasher = get_request_block_hasher(BLOCK, sha256)
        self.batches = batches
        self.drafts = options.get("drafts", 0)
        self.churn = options.get("churn", 0.01)
        self.in_flight = []
        runner = options.get("v2_runner", False)
        default = AsyncScheduler if batches > 1 else Scheduler
        with (
            mock.patch.object(VllmConfig, "use_v2_model_runner", runner),
            mock.patch.object(
                VllmConfig, "num_speculative_tokens", options.get("drafts", 0)
            ),
        ):
            self.scheduler = options.get("scheduler_class", default)(
                config,
                KVCacheConfig(blocks, [], [KVCacheGroupSpec(["layer"], spec)]),
                StructuredOutputManager(config),
                BLOCK,
                log_stats=options.get("log_stats", True),
            )
        self.recorder = getattr(self.scheduler, "opprof", None)

    def add(self, name, prompt, outputs=16):
        """Add a request; prompt is its tokens, or how many of its own."""
        if isinstance(prompt, int):
            prompt = random.Random(name).choices(range(500), k=prompt)
        params = SamplingParams(max_tokens=outputs, ignore_eos=True)
        params.update_from_generation_config({}, 2)
        self.scheduler.add_request(
            Request(name, prompt, params, None, block_hasher=self.hasher)
        )

    def schedule(self):
        output = self.scheduler.schedule()
        drafts = output.scheduled_spec_decode_tokens
        samples = {
            name: []
            if self.scheduler.requests[name].is_prefill_chunk
            # Every second draft is accepted.
            else [7] * (1 + len(drafts.get(name, ())) // 2)
            for name in output.num_scheduled_tokens
        }
        self.in_flight.append((output, samples))
        return output

    def complete(self, graph=None):
        output, samples = self.in_flight.pop(0)
        answer = EMPTY_MODEL_RUNNER_OUTPUT
        if samples:
            index = {name: i for i, name in enumerate(samples)}
            answer = ModelRunnerOutput(
                list(samples), index, list(samples.values()), cudagraph_stats=graph
            )
        return self.scheduler.update_from_output(output, answer)

    def step(self, graph=None):
        """One turn of the engine loop, with its batches in flight."""
        output = self.schedule()
        if len(self.in_flight) == self.batches:
            self.complete(graph)
        return output

    def lines(self):
        """End the recording and read it back."""
        self.scheduler.shutdown()
        with open(self.recorder._writer._path) as file:
            return [json.loads(line) for line in file]

    def steps(self):
        return [line for line in self.lines() if "type" not in line]


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Builds engines that record into one folder."""
    monkeypatch.setenv("VLLM_OPPROF_DIR", str(tmp_path / "records"))
    engines = []

    def build(*args, **options):
        engines.append(Engine(tmp_path, *args, **options))
        return engines[-1]

    yield build
    for built in engines:
        built.scheduler.shutdown()


@pytest.fixture
def sleeping_writer(monkeypatch):
    """Writers drain only when told to."""
    monkeypatch.setattr(opprof, "FLUSH_SECONDS", 3600)


class PlainCount:
    """The composition by the definitions, one request at a time."""

    def __init__(self, scheduler):
        self.scheduler = scheduler
        self.reached = Counter()
        self.goal = {}

    def __call__(self, output):
        kinds = Counter()
        sizes, contexts = [], []
        unsplit = recompute = 0
        for name in output.finished_req_ids:  # another may have the name next
            self.reached.pop(name, None)
            self.goal.pop(name, None)
        requests = self.scheduler.requests
        new = {request.req_id for request in output.scheduled_new_reqs}
        again = {name for name in new if requests[name].num_preemptions}
        resumed = output.scheduled_cached_reqs.resumed_req_ids | again
        for name, chunk in output.num_scheduled_tokens.items():
            request = requests[name]
            before = request.num_computed_tokens
            after = before + chunk
            contexts.append(after)
            outputs = request.num_output_tokens + request.num_output_placeholders
            if name in resumed:
                all_but_one = request.num_tokens + request.num_output_placeholders - 1
                self.goal[name] = all_but_one if outputs else self.reached[name]
            recompute += max(0, min(after, self.goal.get(name, 0)) - before)
            if name in new or outputs == 0:
                whole = after >= request.num_tokens
                fresh = name in new or name in resumed or not request.is_prefill_chunk
                if fresh:
                    kind = "unsplit" if whole else "first"
                else:
                    kind = "final" if whole else "middle"
                kinds[kind] += 1
                sizes.append(chunk)
                unsplit += chunk * (kind == "unsplit")
                self.reached[name] = max(self.reached[name], after)
        return {
            "scheduled_requests": len(contexts),
            "decode_batch_size": len(contexts) - len(sizes),
            "prefill_requests": len(sizes),
            "prefill_tokens": sum(sizes),
            "decode_tokens": sum(output.num_scheduled_tokens.values()) - sum(sizes),
            "resumed_requests": len(resumed),
            "recompute_tokens": recompute,
            "chunked_prefill": {
                **{kind: kinds[kind] for kind in KINDS},
                "tokens": sum(sizes),
                "chunk_size_hist": binned(sizes, opprof.CHUNK_EDGES),
                "chunk_tail_hist": binned(
                    [size for size in sizes if size > 2048], opprof.CHUNK_TAIL_EDGES
                ),
                "unsplit_tokens": unsplit,
            },
            "context_length_hist": binned(contexts, opprof.CONTEXT_EDGES),
        }


def binned(values, edges):
    low = [0, *edges]
    high = [*edges, float("inf")]
    return [sum(a < value <= b for value in values) for a, b in zip(low, high)]


def recorded(recorder, step):
    """The line of a step that has not ended, read back."""
    return json.loads(recorder._writer._encode_step((step, 0, None, 0), 0))


def compare_randomly(driven, rng):
    """Drive at random, compare each step with the plain count, tell what came up."""
    scheduler, recorder = driven.scheduler, driven.recorder
    plain, snapshot = PlainCount(scheduler), recorder.snapshot
    seen = Counter()
    compose, composed = recorder._compose, []

    def note_and_compose(*args):
        composed.append(args)
        compose(*args)

    recorder._compose = note_and_compose

    def compare(output):
        expected = plain(output)
        composed.clear()
        snapshot(output)
        step = recorded(recorder, recorder._pending[-1][1])
        assert {key: step[key] for key in expected} == expected
        vllm = compute_iteration_details(output)
        assert step["prefill_requests"] == vllm.num_ctx_requests
        assert step["prefill_tokens"] == vllm.num_ctx_tokens
        assert step["decode_tokens"] == vllm.num_generation_tokens
        seen["taken over"] += not composed
        seen["followed"] += bool(composed) and recorder._contexts._growth > 0
        seen["preemptions"] += step["preemptions"]
        seen["recompute"] += step["recompute_tokens"]

    recorder.snapshot = compare
    for turn in range(400):
        arrive(driven, rng, turn)
        disturb(driven, rng)
        driven.step(GRAPH)
    assert not recorder._reached.keys() - scheduler.requests.keys()
    assert scheduler.opprof is recorder
    return seen


def arrive(driven, rng, turn):
    if rng.random() < (0.5 if turn % 100 < 20 else driven.churn):
        size = rng.choice([1, 15, 16, 100, 127, 128, 200, rng.randrange(1, 700)])
        driven.add(f"{turn}", size, outputs=rng.randrange(1, 120))
    if rng.random() < 0.01:  # these end together
        for i in range(rng.randrange(2, 12)):
            driven.add(f"{turn} {i}", 30, outputs=20)


def disturb(driven, rng):
    """Let happen at times what changes requests between steps."""
    scheduler = driven.scheduler
    if rng.random() < 0.02 and scheduler.requests:
        name = rng.choice(list(scheduler.requests))
        scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
        if not driven.in_flight and rng.random() < 0.5:
            driven.add(name, rng.randrange(1, 300))
    if rng.random() < 0.01 and not driven.in_flight:
        scheduler.reset_prefix_cache(reset_running_requests=True)
    if rng.random() < 0.05:
        states = [PauseState.UNPAUSED] * 3 + list(PauseState)
        scheduler.set_pause_state(rng.choice(states))
    if rng.random() < 0.005 and driven.in_flight:
        # The step dies, and with it whom it was for.
        output, _ = driven.in_flight.pop()
        names = scheduler.requests.keys() & output.num_scheduled_tokens.keys()
        scheduler.finish_requests(names, RequestStatus.FINISHED_ABORTED)
    for request in scheduler.running:
        # A batch that is in flight has placeholders of its own.
        if driven.drafts and driven.batches == 1 and request.num_output_tokens:
            request.spec_token_ids = [7] * rng.randrange(driven.drafts + 1)


def test_shortcuts_agree_with_the_plain_count(engine, monkeypatch):
    errors = []
    monkeypatch.setattr(opprof.logger, "error", lambda *args: errors.append(args))
    seen = Counter()
    for seed in range(LOADS):
        rng = random.Random(seed)
        monkeypatch.setattr(opprof, "CHECK_STEPS", rng.choice([7, 1024]))
        requests = rng.choice([4, 40])
        driven = engine(
            batches=1 + seed % 2,
            blocks=60 if seed % 3 else 4000,
            budget=rng.choice([requests + 1, 48, 512, 8192]),
            caching=rng.random() < 0.5,
            requests=requests,
            v2_runner=seed % 5 == 0,
            drafts=3 * (seed % 7 == 0),
            churn=rng.choice([0.01, 0.1, 0.4]),
        )
        if seed % 10 == 5:
            driven.scheduler.pp_size = 2  # decodes of one request take turns
        seen += compare_randomly(driven, rng)
        driven.scheduler.shutdown()
    assert not errors
    assert seen["taken over"] > 50 * LOADS
    assert seen["followed"] > 50 * LOADS
    assert seen["preemptions"] > 2 * LOADS
    assert seen["recompute"] > 50 * LOADS


def test_lost_track_is_noticed_and_said(engine, monkeypatch):
    errors = []
    monkeypatch.setattr(opprof.logger, "error", lambda *args: errors.append(args))
    monkeypatch.setattr(opprof, "CHECK_STEPS", 5)
    driven = engine()
    driven.add("a", 300)
    for _ in range(3):
        driven.step()
    driven.recorder._context_bins = [1] + [0] * 11
    for _ in range(9):
        driven.step()
    assert [args[1] for args in errors] == [5]
    bins = [step["context_length_hist"].index(1) for step in driven.steps()]
    assert bins == [2, 2, 2, 0, 2, *[2] * 7]


FIELDS = """schema engine_id step_index submit_wall_ns submit_mono_ns complete_mono_ns
    model_executed scheduled_requests decode_batch_size prefill_requests
    prefill_tokens decode_tokens resumed_requests recompute_tokens chunked_prefill
    context_length_hist preemptions queues kv prefix cudagraph moe_expert_load
    dropped_records_before""".split()


@pytest.mark.parametrize("batches", [1, 2])
def test_file_holds_every_step_between_header_and_footer(engine, batches):
    driven = engine(batches=batches, caching=True)
    for i in range(3):
        driven.add(f"{i}", 40, outputs=3 + i)
    while driven.scheduler.has_requests():
        driven.step(GRAPH)
    while driven.in_flight:
        driven.complete()
    path = driven.recorder._writer._path
    header, *steps, footer = driven.lines()

    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert header["type"] == "header" and header["runner"] == "v1"
    assert header["cudagraph_mode"] in CUDAGraphMode.__members__
    assert header["patch_hash"] is None or len(header["patch_hash"]) == 64
    assert [step["step_index"] for step in steps] == [*range(1, len(steps) + 1)]
    for step in steps:
        assert list(step) == FIELDS
        assert step["submit_mono_ns"] <= step["complete_mono_ns"]
        assert sum(step["context_length_hist"]) == step["scheduled_requests"]
        kv = step["kv"]
        assert kv["used_blocks"] + kv["free_blocks"] == kv["total_blocks"] == 9999
        assert kv["usage"] == pytest.approx(kv["used_blocks"] / kv["total_blocks"])
    # The requests' ends are flushed by a step without tokens.
    assert steps[-1]["model_executed"] is False
    assert steps[-1]["cudagraph"] is None
    assert sum(step["prefill_tokens"] for step in steps) == 120
    assert footer["encoded"] == footer["written"] == len(steps) + 1
    assert footer["dropped"] == 0
    assert footer["foreground_ns"]["n"] == len(steps)
    assert driven.scheduler.opprof is None


LINE = (
    '{"schema":1,"engine_id":"dp0-pid%d","step_index":2,"submit_wall_ns":%d,'
    '"submit_mono_ns":%d,"complete_mono_ns":%d,"model_executed":true,'
    '"scheduled_requests":2,"decode_batch_size":1,"prefill_requests":1,'
    '"prefill_tokens":150,"decode_tokens":1,"resumed_requests":0,'
    '"recompute_tokens":0,"chunked_prefill":{"first":0,"middle":0,"final":0,'
    '"unsplit":1,"tokens":150,"chunk_size_hist":[0,0,0,0,1,0,0,0,0],'
    '"chunk_tail_hist":[0,0,0,0],"unsplit_tokens":150},'
    '"context_length_hist":[1,1,0,0,0,0,0,0,0,0,0,0],"preemptions":0,'
    '"queues":{"running":2,"waiting":0,"deferred":0},"kv":{"total_blocks":20,'
    '"free_blocks":9,"used_blocks":11,"usage":0.55},"prefix":{"local":{'
    '"requests":1,"queries":150,"hits":0,"preempted_requests":0,'
    '"preempted_queries":0,"preempted_hits":0},"external":null},"cudagraph":{'
    '"hit":true,"runtime_mode":"FULL","unpadded_tokens":3,"bucket_tokens":4,'
    '"padding_tokens":1},"moe_expert_load":null,"dropped_records_before":0}\n'
)


def test_lines_are_written_letter_by_letter_as_readers_expect(engine):
    driven = engine(blocks=21, caching=True)
    driven.add("a", 10)
    driven.step()
    driven.add("b", 150)
    driven.step(GRAPH)
    step = driven.steps()[1]
    with open(driven.recorder._writer._path) as file:
        line = file.readlines()[2]
    times = (step[f"{name}_ns"] for name in TIMES)
    assert line == LINE % (os.getpid(), *times)


def vary(value, rng):
    """The same members with other numbers."""
    if isinstance(value, dict):
        return {name: vary(member, rng) for name, member in value.items()}
    if isinstance(value, list):
        return [vary(member, rng) for member in value]
    return rng.randrange(1 << rng.randrange(63)) if type(value) is int else value


def test_encoded_steps_equal_the_plain_dict():
    for seed in range(200):
        rng = random.Random(seed)
        line = vary(json.loads(LINE % (1, 2, 3, 4)), rng)
        line |= {"schema": 1, "model_executed": rng.random() < 0.5}
        kv = line["kv"]
        total = kv["total_blocks"]
        kv["free_blocks"] = free = rng.randrange(total + 1)
        kv["used_blocks"] = total - free
        kv["usage"] = 1.0 - free / total if total else 0.0
        if rng.random() < 0.5:
            external = vary(dict.fromkeys(opprof.LOOKUPS, 0), rng)
            line |= {"prefix": {"local": None, "external": external}}
        graph = None
        if rng.random() < 0.5:
            line["cudagraph"] = None
        else:
            hit, mode, *sizes = line["cudagraph"].values()
            graph = CUDAGraphStat(*sizes, runtime_mode=mode)
        values = list(line.values())
        composition = [*values[6:14], opprof.Chunks(**line["chunked_prefill"])]
        step = (*values[2:5], composition, *values[15:17], *line["queues"].values())
        step += free, opprof.Prefix(**line["prefix"])
        encode_step = opprof.StepEncoder(line["engine_id"], total)
        text = encode_step((step, values[5], graph, 0), values[-1])
        assert text == opprof.encode(line)


def chunks(step):
    return {kind for kind in KINDS if step["chunked_prefill"][kind]}


def test_chunk_kinds_and_prefix_hits(engine):
    driven = engine(budget=32, caching=True)
    prompt = list(range(80))
    driven.add("cold", prompt, outputs=1)
    for _ in range(3):
        driven.step()
    driven.add("warm", prompt, outputs=1)
    driven.step()
    first, middle, final, hit = driven.steps()
    assert [chunks(step) for step in (first, middle, final, hit)] == [
        {"first"},
        {"middle"},
        {"final"},
        {"unsplit"},
    ]
    assert hit["prefix"] == {
        "local": dict(zip(opprof.LOOKUPS, (1, 80, 64, 0, 0, 0))),
        "external": None,
    }
    assert hit["prefill_tokens"] == hit["chunked_prefill"]["unsplit_tokens"] == 16
    assert hit["context_length_hist"][0] == 1


def test_large_chunks_have_a_histogram_of_their_own(engine):
    driven = engine(budget=65536)
    for size in (2048, 2049, 4096, 4097, 16384, 16385):
        driven.add(f"{size}", size, 1)
    driven.step()
    (step,) = driven.steps()
    assert step["chunked_prefill"]["chunk_size_hist"] == [0] * 7 + [1, 5]
    assert step["chunked_prefill"]["chunk_tail_hist"] == [2, 1, 1, 1]


def test_prompt_preempted_between_chunks_starts_again(engine):
    driven = engine(budget=32)
    driven.add("a", 80, outputs=4)
    for turns in (2, 1, 3):
        driven.scheduler.reset_prefix_cache(reset_running_requests=True)
        for _ in range(turns):
            driven.step()
    steps = driven.steps()
    assert [chunks(step) for step in steps] == [
        *({"first"}, {"middle"}),
        {"first"},
        *({"first"}, {"middle"}, {"final"}),
    ]
    assert [step["resumed_requests"] for step in steps] == [0, 0, 1, 1, 0, 0]
    assert [step["recompute_tokens"] for step in steps] == [0, 0, 32, 32, 32, 0]


def test_requests_that_take_turns_are_never_steady(engine):
    driven = engine(batches=2, v2_runner=True)
    driven.scheduler.pp_size = 2  # decodes of one request keep two steps apart
    driven.add("long", 300)
    driven.step()
    driven.add("short", 10)
    for _ in range(7):
        driven.step()
    bins = [step["context_length_hist"].index(1) for step in driven.steps()]
    assert bins == [2, 0, 2, 0, 2, 0, 2]


def test_unseen_step_ends_a_steady_run(engine):
    driven = engine()
    driven.add("long", 300)
    for _ in range(3):
        driven.step()
    driven.scheduler.opprof = None
    driven.scheduler.finish_requests("long", RequestStatus.FINISHED_ABORTED)
    driven.add("short", 10)
    driven.step()
    driven.scheduler.opprof = driven.recorder
    driven.step()
    assert driven.steps()[-1]["context_length_hist"] == [1] + [0] * 11


@pytest.mark.parametrize("v2_runner", [False, True])
def test_preempted_decode_is_counted_as_recompute(engine, v2_runner):
    driven = engine(blocks=9, v2_runner=v2_runner)
    driven.add("a", 60, outputs=30)
    driven.add("b", 60, outputs=30)
    while driven.scheduler.has_requests():
        driven.step()
    header, *steps, _ = driven.lines()
    assert header["runner"] == ("v2" if v2_runner else "v1")
    assert (header["cudagraph_null_reason"] is not None) == v2_runner
    (preempting,) = (step for step in steps if step["preemptions"])
    (resuming,) = (step for step in steps if step["resumed_requests"])
    assert preempting["step_index"] < resuming["step_index"]
    # 65 tokens, of which the newest is computed for the first time.
    assert resuming["recompute_tokens"] == 64
    # The V2 runner gets resumed requests as new ones: the classifier follows.
    assert resuming["prefill_tokens" if v2_runner else "decode_tokens"] == 65
    assert sum(step["recompute_tokens"] for step in steps) == 64
    computed = sum(step["prefill_tokens"] + step["decode_tokens"] for step in steps)
    assert computed - 64 == 2 * (60 + 30 - 1)


def test_steps_in_flight_meet_their_own_results(engine):
    driven = engine(batches=2)
    driven.add("a", 10, outputs=20)
    for i in range(8):
        driven.step(copy(GRAPH) if i % 2 else None)
    pending, step, _ = driven.recorder._pending[0]
    driven.recorder.finalize(copy(pending), GRAPH)
    assert driven.recorder._pending[0][1] is step
    graphs = [step["cudagraph"] for step in driven.steps()]
    hit = {
        "hit": True,
        "runtime_mode": "FULL",
        "unpadded_tokens": 3,
        "bucket_tokens": 4,
        "padding_tokens": 1,
    }
    assert graphs == [hit, None, hit, None, hit, None, hit]


def test_step_that_died_is_reported_by_the_next(engine):
    driven = engine(batches=3)
    driven.add("a", 10, outputs=20)
    driven.schedule()
    driven.schedule()
    driven.in_flight.pop(0)
    driven.complete()
    driven.step()
    _, step, footer = driven.lines()
    assert (step["step_index"], step["dropped_records_before"]) == (2, 1)
    # The last step was still in flight at the end.
    assert (footer["encoded"], footer["written"], footer["dropped"]) == (4, 2, 2)


def test_unset_variable_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_OPPROF_DIR", "")
    monkeypatch.delitem(sys.modules, "vllm.v1.opprof")
    profile, threads = EngineCore.profile, threading.active_count()
    driven = Engine(tmp_path)
    driven.add("a", 10)
    driven.step(GRAPH)
    assert driven.scheduler.opprof is None
    assert "vllm.v1.opprof" not in sys.modules
    assert EngineCore.profile is profile
    assert threading.active_count() == threads
    driven.scheduler.shutdown()


def test_full_queue_drops_counts_and_reports(engine, sleeping_writer, monkeypatch):
    monkeypatch.setattr(opprof, "QUEUE_LINES", 4)
    driven = engine()
    driven.add("a", 10, outputs=50)
    for _ in range(7):
        driven.step()
    driven.recorder._writer._drain()
    driven.step()
    header, *steps, footer = driven.lines()
    assert [step["step_index"] for step in steps] == [1, 2, 3, 4, 8]
    assert [step["dropped_records_before"] for step in steps] == [0, 0, 0, 0, 3]
    assert (footer["encoded"], footer["written"], footer["dropped"]) == (9, 6, 3)
    assert footer["queue_high_watermark"] == 4


@pytest.mark.parametrize("failure", ["full", "removed"])
def test_disk_failure_costs_records_only(
    engine, sleeping_writer, monkeypatch, tmp_path, failure
):
    errors = []
    monkeypatch.setattr(opprof.logger, "error", lambda *args: errors.append(args))
    driven = engine()
    writer = driven.recorder._writer
    driven.add("a", 10, outputs=50)
    driven.step()
    writer._drain()
    good = os.dup(writer._fd)
    if failure == "full":
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, writer._fd)
        os.close(full)
    else:
        kept = tmp_path / "kept"
        os.link(writer._path, kept)
        os.unlink(kept)
        shutil.rmtree(tmp_path / "records")
    for _ in range(2):
        driven.step()
        driven.step()
        writer._drain()
    assert len(errors) == 1
    reason = {"full": errno.ENOSPC, "removed": errno.ENOENT}[failure]
    assert errors[0][2] in (os.strerror(reason), "the file was removed")
    if failure == "removed":
        assert (writer._lost, writer._taken) == (4, 6)
        return
    os.dup2(good, writer._fd)
    driven.step()
    _, *steps, footer = driven.lines()
    assert [step["step_index"] for step in steps] == [1, 6]
    assert [step["dropped_records_before"] for step in steps] == [0, 4]
    assert (footer["encoded"], footer["written"], footer["dropped"]) == (7, 3, 4)


@pytest.mark.parametrize("kill", [False, True])
def test_child_that_ends_without_shutdown(engine, tmp_path, kill):
    def child():
        driven = engine()
        driven.add("a", 10, outputs=10_000)
        while os.path.getsize(driven.recorder._writer._path) < 20_000:
            driven.step()
        if kill:
            os.kill(os.getpid(), signal.SIGKILL)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == (-signal.SIGKILL if kill else 0)
    (path,) = (tmp_path / "records").iterdir()
    whole, _, torn = path.read_text().rpartition("\n")
    header, *steps = map(json.loads, whole.splitlines())
    assert kill or not torn
    assert header["engine_id"] == f"dp0-pid{process.pid}"
    assert ("type" in steps[-1]) == (not kill)
    assert all("type" not in step for step in steps[:-1])


def test_engine_calls_leave_marks(engine):
    driven = engine()
    driven.add("a", 10)
    driven.step()

    def refuse(is_start, prefix):
        raise RuntimeError("no profiler")

    core = SimpleNamespace(scheduler=driven.scheduler)
    core.model_executor = SimpleNamespace(
        profile=lambda is_start, prefix: None, execute_dummy_batch=lambda: None
    )
    EngineCore.profile(core, True, "name")
    EngineCore.execute_dummy_batch(core)
    core.model_executor.profile = refuse
    with pytest.raises(RuntimeError):
        EngineCore.profile(core, is_start=False)
    _, _, start, dummy, stop, footer = driven.lines()
    assert (start["action"], start["ok"], start["after_step"]) == ("start", True, 1)
    assert start["mono_ns"] <= start["return_mono_ns"]
    assert (dummy["type"], dummy["after_step"]) == ("dummy_step", 1)
    assert (stop["action"], stop["ok"]) == ("stop", False)
    assert stop["error"] == "RuntimeError: no profiler"
    # Nobody records any more.
    with pytest.raises(RuntimeError):
        EngineCore.profile(core)


def test_recorder_that_fails_leaves_the_scheduler_alone(engine, monkeypatch):
    driven = engine()
    monkeypatch.setattr(driven.recorder, "_compose", lambda *args: 1 // 0)
    driven.add("a", 10)
    assert driven.step().total_num_scheduled_tokens == 10
    assert driven.scheduler.opprof is None
    assert driven.step().total_num_scheduled_tokens == 1


def test_start_is_refused_with_a_way_out(engine, monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="--disable-log-stats"):
        engine(log_stats=False)
    monkeypatch.setenv("VLLM_OPPROF_DIR", "records")
    with pytest.raises(ValueError, match="absolute"):
        engine()
    (tmp_path / "file").touch()
    monkeypatch.setenv("VLLM_OPPROF_DIR", str(tmp_path / "file"))
    with pytest.raises(RuntimeError, match="cannot write"):
        engine()


def test_variable_is_known_and_no_compile_factor(monkeypatch):
    monkeypatch.delenv("VLLM_OPPROF_DIR", raising=False)
    assert envs.VLLM_OPPROF_DIR is None
    factors = envs.compile_factors()
    monkeypatch.setenv("VLLM_OPPROF_DIR", "/somewhere")
    assert envs.VLLM_OPPROF_DIR == "/somewhere"
    assert envs.compile_factors() == factors
    assert "VLLM_OPPROF_DIR" in envs.environment_variables
