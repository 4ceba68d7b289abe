# SPDX-License-Identifier: Apache-2.0
"""OpProf Layer 1: one JSON line for every scheduler step.

While VLLM_OPPROF_DIR is set, `Scheduler` owns one `StepRecorder` and calls

    begin()                  at the entry of schedule(): prefix-cache counters
    snapshot(output)         output built, requests not yet advanced: composition
    finalize(output, graph)  at the end of update_from_output(): the line is whole
    close()                  in shutdown(): drain, footer

The serving thread queues a few numbers; one daemon thread makes lines of them
and writes. A slow or full disk costs records, which are counted, never a step.
Between two calls the worker takes the processor's caches, so what the serving
thread does here costs what it touches: few objects, and each of them once.
Times are nanoseconds; unknown is null, never zero.
"""

import atexit
import contextlib
import errno
import functools
import os
import sys
import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from itertools import accumulate, repeat
from multiprocessing.util import Finalize
from operator import attrgetter, mul, sub
from time import monotonic_ns, time_ns
from typing import Any

import msgspec
import torch

from vllm.logger import init_logger
from vllm.version import __version__ as vllm_version

logger = init_logger(__name__)

PATCH_HASH = ""
SCHEMA = 1

# Upper edges of the bins: a value on an edge belongs to the bin below.
CONTEXT_EDGES = [128 << i for i in range(11)]
CHUNK_EDGES = [16 << i for i in range(8)]
CHUNK_TAIL_EDGES = [4096, 8192, 16384]

QUEUE_LINES = 8192
WAKE_LINES = 768  # about FLUSH_BYTES
FLUSH_BYTES = 1 << 20
FLUSH_SECONDS = 0.25
JOIN_SECONDS = 5.0
# The writer shares the GIL with the serving thread: it encodes a few lines at a
# time, some 100 us, and then stands aside long enough for a waiter to run.
BURST_LINES = 32
BURST_PAUSE_SECONDS = 0.0005
COST_UNIT_NS = 100
NEVER = sys.maxsize

LOOKUPS = ["requests", "queries", "hits"]
LOOKUPS += [f"preempted_{name}" for name in LOOKUPS]
NO_LOOKUPS = (0,) * len(LOOKUPS)
lookup_counters = attrgetter(*LOOKUPS)
encode = msgspec.json.Encoder(enc_hook=str).encode


class Chunks(msgspec.Struct):
    """Prompts and parts of prompts in a step."""

    first: int = 0
    middle: int = 0
    final: int = 0
    unsplit: int = 0
    tokens: int = 0
    chunk_size_hist: list[int] = msgspec.field(
        default_factory=lambda: [0] * (len(CHUNK_EDGES) + 1)
    )
    chunk_tail_hist: list[int] = msgspec.field(
        default_factory=lambda: [0] * (len(CHUNK_TAIL_EDGES) + 1)
    )
    unsplit_tokens: int = 0


class Queues(msgspec.Struct):
    running: int
    waiting: int
    deferred: int


class Blocks(msgspec.Struct):
    total_blocks: int
    free_blocks: int
    used_blocks: int
    usage: float


class Prefix(msgspec.Struct):
    local: dict[str, int] | None
    external: dict[str, int] | None


class Graph(msgspec.Struct):
    hit: bool
    runtime_mode: str
    unpadded_tokens: int
    bucket_tokens: int
    padding_tokens: int


class StepLine(msgspec.Struct):
    """The line of a step. Readers rely on the order of the fields."""

    schema: int
    engine_id: str
    step_index: int
    submit_wall_ns: int
    submit_mono_ns: int
    complete_mono_ns: int
    # The composition: these are one tuple, which steps share.
    model_executed: bool
    scheduled_requests: int
    decode_batch_size: int
    prefill_requests: int
    prefill_tokens: int
    decode_tokens: int
    resumed_requests: int
    recompute_tokens: int
    chunked_prefill: Chunks
    # The composition ends.
    context_length_hist: list[int]
    preemptions: int
    queues: Queues
    kv: Blocks
    prefix: Prefix
    cudagraph: Graph | None
    moe_expert_load: None
    dropped_records_before: int


NO_CHUNKS = Chunks()


class StepRecorder:
    """Describes the steps of one scheduler; all calls come from its thread."""

    def __init__(self, scheduler, directory: str) -> None:
        if not scheduler.log_stats:
            raise ValueError(
                "VLLM_OPPROF_DIR needs the scheduler's statistics: remove "
                "--disable-log-stats (log_stats=False) or unset VLLM_OPPROF_DIR."
            )
        if not os.path.isabs(directory):
            raise ValueError(
                f"VLLM_OPPROF_DIR must be an absolute path, not {directory!r}."
            )
        config = scheduler.vllm_config
        rank = config.parallel_config.data_parallel_index
        self._pid = os.getpid()
        self._engine_id = f"dp{rank}-pid{self._pid}"
        self._scheduler = scheduler
        # These are never replaced; the list of running requests is.
        self._kv_cache = scheduler.kv_cache_manager
        self._free_blocks = self._kv_cache.block_pool.free_block_queue
        self._waiting = scheduler.waiting
        self._deferred = scheduler.skipped_waiting
        self._connects = scheduler.connector is not None
        self._caches_prefixes = bool(config.cache_config.enable_prefix_caching)
        self._lookups_before = (NO_LOOKUPS, NO_LOOKUPS)
        self._no_lookups = self._prefix(NO_LOOKUPS, NO_LOOKUPS)
        self._begin_cost = 0
        self._pending: deque[tuple[Any, tuple, int]] = deque()
        self._missing_steps = 0
        self._costs: dict[int, int] = {}

        # Tokens that preemptions threw away: how far prompts that are still in
        # chunks have come, and how far resumed requests have to go once more.
        self._reached: dict[str, int] = {}
        self._refill: dict[str, int] = {}

        # The last composition, and whether the next step may take it over.
        # Speculative decoding and KV connectors change lengths between steps.
        self._composition: tuple = ()
        self._context_bins: list[int] = []
        self._steady = False
        self._never_steady = self._connects or bool(config.num_speculative_tokens)
        self._count = 0
        self._lengths: list[int] = []  # sorted, without the growth since then
        self._growth = 0
        self._cuts: list[int] = []  # how many lengths are within each edge
        self._crossings: list[int] = []  # at what growth one more is past it
        self._next_crossing = NEVER
        self._last_step = 0
        self._closed = False

        blocks = self._kv_cache.block_pool.num_gpu_blocks - 1  # less the null block
        encode_step = StepEncoder(self._engine_id, blocks)
        header = self._line("header") | describe_engine(config)
        name = f"opprof-v1-{self._engine_id}-{header['start_wall_ns']}.jsonl"
        path = os.path.join(directory, name)
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            self._writer = LineWriter(path, header, encode_step)
        except OSError as error:
            raise RuntimeError(
                f"VLLM_OPPROF_DIR: cannot write {path}: {error.strerror}. Name a "
                "folder this process can write to, or unset VLLM_OPPROF_DIR."
            ) from error
        atexit.register(self.close)
        # Forked children end without running atexit functions.
        self._finalizer = Finalize(None, self.close, exitpriority=100)
        mark_engine_calls()
        logger.info("OpProf records every scheduler step to %s", path)

    def begin(self) -> None:
        start = monotonic_ns()
        local = self._kv_cache.prefix_cache_stats
        if local.requests or local.preempted_requests or self._connects:
            self._lookups_before = self._lookups()
        else:
            self._lookups_before = NO_LOOKUPS, NO_LOOKUPS
        self._begin_cost = monotonic_ns() - start

    def snapshot(self, output) -> None:
        start = monotonic_ns()
        try:
            step = self._describe(output)
        except Exception:
            logger.exception("OpProf failed and stops recording; serving goes on.")
            self.close(timeout=0)
            return
        cost = self._begin_cost + monotonic_ns() - start
        self._pending.append((output, step, cost))

    def finalize(self, output, graph) -> None:
        """Complete the step of this very output: a later step may be in flight,
        and an earlier one may have ended in an exception."""
        start = monotonic_ns()
        pending = self._pending
        if not pending or pending[0][0] is not output:
            if all(known is not output for known, *_ in pending):
                return
            self._abandon_before(output)
        _, step, cost = pending.popleft()
        missing = self._missing_steps
        queued = self._writer.put((step, start, graph, missing))
        self._missing_steps = 0 if queued else missing + 1
        cost = (cost + monotonic_ns() - start) // COST_UNIT_NS
        self._costs[cost] = self._costs.get(cost, 0) + 1

    def close(self, timeout: float = JOIN_SECONDS) -> None:
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        self._finalizer.cancel()
        atexit.unregister(self.close)
        self._scheduler.opprof = None
        self._writer.refuse(len(self._pending))
        self._pending.clear()
        self._writer.close(self._line("footer"), percentiles(self._costs), timeout)

    @contextlib.contextmanager
    def profile_mark(self, action: str):
        """Mark a profiler call and its outcome among the steps."""
        mark = self._line("profile") | {
            "action": action,
            "wall_ns": time_ns(),
            "mono_ns": monotonic_ns(),
            "return_mono_ns": None,
            "after_step": self._scheduler.current_step,
            "ok": True,
            "error": None,
        }
        try:
            yield
        except BaseException as error:
            mark |= {"ok": False, "error": f"{type(error).__name__}: {error}"}
            raise
        finally:
            mark["return_mono_ns"] = monotonic_ns()
            self._writer.put(mark)

    def mark_dummy_step(self) -> None:
        """Mark a data-parallel batch that has no SchedulerOutput."""
        mark = {
            "after_step": self._scheduler.current_step,
            "wall_ns": time_ns(),
            "mono_ns": monotonic_ns(),
        }
        self._writer.put(self._line("dummy_step") | mark)

    def _line(self, kind: str) -> dict[str, Any]:
        return {"type": kind, "schema": SCHEMA, "engine_id": self._engine_id}

    def _abandon_before(self, output) -> None:
        while self._pending[0][0] is not output:
            self._pending.popleft()
            self._writer.refuse(1)
            self._missing_steps += 1

    def _describe(self, output) -> tuple:
        """What StepEncoder makes the line of, but for how the step ends."""
        scheduler = self._scheduler
        index = scheduler.current_step
        if not (self._steady and self._take_over(output, index)):
            self._compose(output)
        self._last_step = index
        local = self._kv_cache.prefix_cache_stats
        prefix = self._no_lookups
        if local.requests or local.preempted_requests or self._connects:
            after, before = self._lookups(), self._lookups_before
            prefix = self._prefix(*map(differences, after, before))
        return (
            index,
            time_ns(),
            monotonic_ns(),
            self._composition,
            self._context_bins,
            len(output.preempted_req_ids or ()),
            len(scheduler.running),
            len(self._waiting),
            len(self._deferred),
            self._free_blocks.num_free_blocks,
            prefix,
        )

    def _lookups(self) -> tuple[tuple, tuple]:
        """The prefix-cache counters, local and external. vLLM starts new ones from
        time to time, and each lookup in them counts one more request."""
        external = self._scheduler.connector_prefix_cache_stats
        return (
            lookup_counters(self._kv_cache.prefix_cache_stats),
            lookup_counters(external) if external else NO_LOOKUPS,
        )

    def _prefix(self, local: tuple, external: tuple) -> Prefix:
        return Prefix(
            dict(zip(LOOKUPS, local)) if self._caches_prefixes else None,
            dict(zip(LOOKUPS, external)) if self._connects else None,
        )

    def _take_over(self, output, index: int) -> bool:
        """Take over the last composition, if the same requests decode one token
        each again: only the context lengths have grown, all by one.

        A steady step scheduled every running request, and only new and resumed
        requests join those. Where none do, as many requests as then are the same
        requests, and as many tokens as requests is one token for each.
        """
        count = self._count
        if not (
            output.total_num_scheduled_tokens == count
            and len(output.num_scheduled_tokens) == count
            and index == self._last_step + 1
            and not output.scheduled_new_reqs
            and not output.scheduled_cached_reqs.resumed_req_ids
            and not output.finished_req_ids
        ):
            return False
        self._growth = growth = self._growth + 1
        if growth == self._next_crossing:
            self._cross_edges()
        return True

    def _cross_edges(self) -> None:
        """Count the lengths that have just grown past an edge in the bin above."""
        self._context_bins = bins = self._context_bins.copy()  # one is in a record
        lengths, growth, crossings = self._lengths, self._growth, self._crossings
        while self._next_crossing == growth:
            i = crossings.index(growth)
            edge, cut = CONTEXT_EDGES[i] - growth, self._cuts[i]
            while cut and lengths[cut - 1] > edge:
                cut -= 1
                bins[i] -= 1
                bins[i + 1] += 1
            self._cuts[i] = cut
            crossings[i] = crossing_growth(CONTEXT_EDGES[i], lengths, cut)
            self._next_crossing = min(crossings)

    def _count_contexts(self, lengths: list[int]) -> None:
        """Count the lengths that grow by one token in this step."""
        lengths.sort()
        cuts = [bisect_left(lengths, edge) for edge in CONTEXT_EDGES]
        self._context_bins = list(map(sub, [*cuts, len(lengths)], [0, *cuts]))
        self._lengths, self._growth, self._cuts = lengths, 1, cuts

    def _compose(self, output) -> None:
        """Count the step's requests, tokens, chunks and context lengths."""
        tokens = output.num_scheduled_tokens
        total = output.total_num_scheduled_tokens
        count = len(tokens)
        new = output.scheduled_new_reqs
        cached = output.scheduled_cached_reqs
        resumed = self._resumed(output)
        for name in output.finished_req_ids:
            self._reached.pop(name, None)
            self._refill.pop(name, None)

        # Like vLLM, call a request prefill while it is new or has no output.
        prefills = [(request.req_id, False) for request in new]
        places = list(range(len(new)))
        for i in places_of(0, cached.num_output_tokens):
            # The mark outlives a preemption, after which all starts again.
            name = cached.req_ids[i]
            was_chunk = self._scheduler.requests[name].is_prefill_chunk
            prefills.append((name, was_chunk and name not in resumed))
            places.append(len(new) + i)

        lengths = [request.num_computed_tokens for request in new]
        lengths += cached.num_computed_tokens
        further = [tokens[name] - 1 for name, _ in prefills]
        if total - count == sum(further):  # one token for each of the others
            for place, more in zip(places, further):
                lengths[place] += more
        else:
            names = [request.req_id for request in new] + cached.req_ids
            lengths = [n + tokens[name] - 1 for name, n in zip(names, lengths)]
        self._count_contexts(lengths)
        recompute = self._recompute(resumed, tokens) if resumed or self._refill else 0
        chunks = self._count_chunks(prefills, tokens) if prefills else NO_CHUNKS
        self._composition = (
            total > 0,
            count,
            count - len(prefills),
            len(prefills),
            chunks.tokens,
            total - chunks.tokens,
            len(resumed),
            recompute,
            chunks,
        )
        self._count = count
        self._steady = total == count == len(self._scheduler.running) and not (
            prefills or resumed or recompute or self._refill or self._never_steady
        )
        if self._steady:
            self._crossings = list(
                map(crossing_growth, CONTEXT_EDGES, repeat(lengths), self._cuts)
            )
            self._next_crossing = min(self._crossings)

    def _resumed(self, output) -> set[str]:
        """Requests that start again after a preemption."""
        if not self._scheduler.use_v2_model_runner:
            return output.scheduled_cached_reqs.resumed_req_ids
        # For the V2 runner the scheduler lists them among the new ones.
        requests = self._scheduler.requests
        names = {request.req_id for request in output.scheduled_new_reqs}
        return {name for name in names if requests[name].num_preemptions}

    def _recompute(self, resumed: set[str], tokens: dict[str, int]) -> int:
        """Tokens of this step that preempted requests had computed before."""
        requests = self._scheduler.requests
        for name in resumed:
            request = requests[name]
            in_flight = request.num_output_placeholders
            if request.num_output_tokens or in_flight:
                # The newest token has never been computed.
                self._refill[name] = request.num_tokens + in_flight - 1
            else:
                self._refill[name] = self._reached.get(name, 0)
        recompute = 0
        for name, goal in list(self._refill.items()):
            missing = goal - requests[name].num_computed_tokens
            chunk = tokens.get(name, 0)
            recompute += max(0, min(chunk, missing))
            if chunk >= missing:
                del self._refill[name]
        return recompute

    def _count_chunks(
        self, prefills: list[tuple[str, bool]], tokens: dict[str, int]
    ) -> Chunks:
        """Chunks by kind and size; was_chunk tells those with an earlier part."""
        chunks = Chunks()
        for name, was_chunk in prefills:
            request = self._scheduler.requests[name]
            chunk = tokens[name]
            reached = request.num_computed_tokens + chunk
            if reached < request.num_tokens + request.num_output_placeholders:
                self._reached[name] = max(reached, self._reached.get(name, 0))
                if was_chunk:
                    chunks.middle += 1
                else:
                    chunks.first += 1
            else:
                self._reached.pop(name, None)
                if was_chunk:
                    chunks.final += 1
                else:
                    chunks.unsplit += 1
                    chunks.unsplit_tokens += chunk
            chunks.tokens += chunk
            size = bisect_left(CHUNK_EDGES, chunk)
            chunks.chunk_size_hist[size] += 1
            if size == len(CHUNK_EDGES):
                chunks.chunk_tail_hist[bisect_left(CHUNK_TAIL_EDGES, chunk)] += 1
        return chunks


class StepEncoder:
    """Makes JSON lines of what StepRecorder.finalize queues."""

    def __init__(self, engine_id: str, total_blocks: int) -> None:
        self._engine_id = engine_id
        self._total_blocks = total_blocks

    def __call__(self, line: tuple, missing: int) -> bytes:
        """Encode a step that this many steps are missing before."""
        step, complete, graph, _ = line
        index, wall, mono, composition, bins, preemptions, *state = step
        running, waiting, deferred, free, prefix = state
        total = self._total_blocks
        return encode(
            StepLine(
                SCHEMA,
                self._engine_id,
                index,
                wall,
                mono,
                complete,
                *composition,
                bins,
                preemptions,
                Queues(running, waiting, deferred),
                Blocks(total, free, total - free, 1.0 - free / total if total else 0.0),
                prefix,
                None if graph is None else describe_graph(graph),
                None,
                missing,
            )
        )


class LineWriter:
    """Appends lines to one new file from its own thread; `put` never waits.

    Lines that cannot be queued or written count as dropped, and the next step
    that reaches the file says how many steps are missing before it.
    """

    def __init__(
        self, path: str, header: dict[str, Any], encode_step: StepEncoder
    ) -> None:
        self._path = path
        self._queue: deque[tuple | dict[str, Any]] = deque()
        self._encode_step = encode_step
        self._wake = threading.Event()
        self._ending: tuple[dict[str, Any], dict[str, Any]] | None = None
        self._taken = 1  # from the queue; the header never was there
        self._refused = 0  # by the serving thread
        self._lost = 0  # by the writing thread
        self._missing_steps = 0
        self._high_watermark = 0
        self._complained = False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o600)
        self._append(encode(header) + b"\n")
        self._thread = threading.Thread(target=self._run, name="opprof", daemon=True)
        self._thread.start()

    def put(self, line: tuple | dict[str, Any]) -> bool:
        """Queue a step or a mark; where the queue is full, count it as dropped."""
        depth = len(self._queue)
        if depth >= QUEUE_LINES:
            self._refused += 1
            return False
        self._queue.append(line)
        if depth == WAKE_LINES:
            self._wake.set()
        return True

    def refuse(self, lines: int) -> None:
        """Count lines that are never queued."""
        self._refused += lines

    def close(self, footer: dict[str, Any], cost: dict[str, Any], timeout: float):
        """Drain the queue and end the file with the footer; wait up to timeout."""
        self._ending = footer, cost
        self._wake.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        while self._ending is None:
            self._wake.wait(FLUSH_SECONDS)
            self._wake.clear()
            self._drain()
        self._drain()
        footer, cost = self._ending
        counts = {
            "encoded": self._taken + self._refused,
            "written": self._taken - self._lost,
            "dropped": self._refused + self._lost,
            "queue_high_watermark": self._high_watermark,
            "end_wall_ns": time_ns(),
            "foreground_ns": cost,
        }
        self._queue.append(footer | counts)
        self._drain()
        os.close(self._fd)

    def _drain(self) -> None:
        while self._queue:
            buffer = bytearray()
            lines = 0
            missing = missing_if_lost = self._missing_steps
            while (depth := len(self._queue)) and len(buffer) < FLUSH_BYTES:
                self._high_watermark = max(self._high_watermark, depth)
                line = self._queue.popleft()
                if isinstance(line, tuple):
                    reported = line[-1]
                    missing_if_lost += reported + 1
                    buffer += self._encode_step(line, reported + missing) + b"\n"
                    missing = 0
                else:
                    buffer += encode(line) + b"\n"
                lines += 1
                if lines % BURST_LINES == 0 and self._ending is None:
                    time.sleep(BURST_PAUSE_SECONDS)
            self._taken += lines
            try:
                self._append(buffer)
                self._missing_steps = missing
            except OSError as error:
                self._lost += lines
                self._missing_steps = missing_if_lost
                self._complain(error)

    def _append(self, data: bytes | bytearray) -> None:
        """Write all of data or none: half a line would spoil the next one."""
        status = os.fstat(self._fd)
        if status.st_nlink == 0:
            raise FileNotFoundError(errno.ENOENT, "the file was removed")
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, status.st_size)
            raise

    def _complain(self, error: OSError) -> None:
        if self._complained:
            return
        self._complained = True
        logger.error(
            "OpProf cannot write %s: %s. Serving goes on; records are dropped and "
            "counted until the file can be written.",
            self._path,
            error.strerror,
        )


def describe_engine(config) -> dict[str, Any]:
    """What the header says about this engine."""
    model, cache = config.model_config, config.cache_config
    parallel, batch = config.parallel_config, config.scheduler_config
    graph_mode = config.compilation_config.cudagraph_mode
    null_reason = "the V2 model runner of this version reports no CUDA-graph statistics"
    v2_runner = config.use_v2_model_runner
    return {
        "start_wall_ns": time_ns(),
        "start_mono_ns": monotonic_ns(),
        "vllm_version": vllm_version,
        "model": model.model,
        "dtype": str(model.dtype),
        "tensor_parallel_size": parallel.tensor_parallel_size,
        "data_parallel_size": parallel.data_parallel_size,
        "pipeline_parallel_size": parallel.pipeline_parallel_size,
        "expert_parallel": parallel.enable_expert_parallel,
        "max_num_batched_tokens": batch.max_num_batched_tokens,
        "max_num_seqs": batch.max_num_seqs,
        "async_scheduling": bool(batch.async_scheduling),
        "prefix_caching": bool(cache.enable_prefix_caching),
        "cudagraph_mode": None if graph_mode is None else graph_mode.name,
        "block_size": cache.block_size,
        "context_edges": CONTEXT_EDGES,
        "chunk_edges": CHUNK_EDGES,
        "chunk_tail_edges": CHUNK_TAIL_EDGES,
        "runner": "v2" if v2_runner else "v1",
        "cudagraph_null_reason": null_reason if v2_runner else None,
        "torch_version": str(torch.__version__),
        "quantization": model.quantization,
        "patch_hash": PATCH_HASH or None,
    }


def mark_engine_calls() -> None:
    """Let EngineCore's profiler calls and dummy batches leave a mark.

    The class is looked up among the loaded modules: who runs an engine has
    loaded it, and a scheduler alone has nothing to mark.
    """
    core = sys.modules.get("vllm.v1.engine.core")
    engine = getattr(core, "EngineCore", None)
    if engine is None or hasattr(engine.profile, "marks_steps"):
        return
    profile, execute_dummy_batch = engine.profile, engine.execute_dummy_batch

    @functools.wraps(profile)
    def marked_profile(self, is_start: bool = True, *args, **kwargs):
        recorder = getattr(self.scheduler, "opprof", None)
        if recorder is None:
            return profile(self, is_start, *args, **kwargs)
        with recorder.profile_mark("start" if is_start else "stop"):
            return profile(self, is_start, *args, **kwargs)

    @functools.wraps(execute_dummy_batch)
    def marked_dummy_batch(self):
        if recorder := getattr(self.scheduler, "opprof", None):
            recorder.mark_dummy_step()
        return execute_dummy_batch(self)

    marked_profile.marks_steps = True
    engine.profile = marked_profile
    engine.execute_dummy_batch = marked_dummy_batch


def describe_graph(graph) -> Graph:
    return Graph(
        graph.runtime_mode != "NONE",
        graph.runtime_mode,
        graph.num_unpadded_tokens,
        graph.num_padded_tokens,
        graph.num_paddings,
    )


def places_of(value: int, values: list[int]) -> Iterator[int]:
    place = -1
    for _ in range(values.count(value)):
        place = values.index(value, place + 1)
        yield place


def differences(after: tuple[int, ...], before: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(sub, after, before))


def crossing_growth(edge: int, lengths: list[int], cut: int) -> int:
    """The growth that takes the longest of the first cut lengths past the edge."""
    return edge + 1 - lengths[cut - 1] if cut else NEVER


def percentiles(costs: dict[int, int]) -> dict[str, int | None]:
    """Nearest-rank percentiles of costs counted in units of COST_UNIT_NS."""
    n = sum(costs.values())
    names = ("p50", "p95", "p99", "max", "mean")
    if n == 0:
        return {"n": 0} | dict.fromkeys(names)
    units = sorted(costs)
    ranks = list(accumulate(costs[unit] for unit in units))
    values = [units[bisect_left(ranks, -(-n * p // 100))] for p in (50, 95, 99)]
    values += [units[-1], sum(map(mul, costs.keys(), costs.values())) // n]
    return {"n": n} | {name: v * COST_UNIT_NS for name, v in zip(names, values)}
