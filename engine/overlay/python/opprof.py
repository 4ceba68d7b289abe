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
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from itertools import accumulate, chain, repeat
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
CHECK_STEPS = 1024
UPPER_EDGES = [*CONTEXT_EDGES, 1 << 62]

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
        self._no_lookups = Prefix(
            dict(zip(LOOKUPS, NO_LOOKUPS)) if self._caches_prefixes else None,
            dict(zip(LOOKUPS, NO_LOOKUPS)) if self._connects else None,
        )
        self._begin_cost = 0
        self._pending: deque[tuple[Any, tuple, int]] = deque()
        self._missing_steps = 0
        self._costs: dict[int, int] = {}

        # Tokens that preemptions threw away: how far prompts that are still in
        # chunks have come, and how far resumed requests have to go once more.
        self._reached: dict[str, int] = {}
        self._refill: dict[str, int] = {}

        # The last step, from which the next one is counted. Speculative decoding
        # and KV connectors change lengths between steps.
        self._last_step = 0
        self._names: list[str] = []  # in the scheduler's order
        self._first_prefill = 0  # no place before it holds a prompt
        self._composition: tuple = ()
        self._contexts = Contexts()
        self._context_bins: list[int] = []  # as records keep them: never changed
        self._steady = False  # decodes of one token each, and nothing else
        self._follows = not (self._connects or config.num_speculative_tokens)
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
        follows = self._follows and index == self._last_step + 1
        self._last_step = index
        if output.finished_req_ids and (self._reached or self._refill):
            self._forget(output.finished_req_ids)
        cached = output.scheduled_cached_reqs
        if (
            follows
            and self._steady
            and output.total_num_scheduled_tokens == len(self._names)
            and cached.req_ids == self._names
            and not cached.resumed_req_ids
        ):
            if self._contexts.grow():
                self._context_bins = self._contexts.bins.copy()
        else:
            self._compose(output, follows)
        if index % CHECK_STEPS == 0 and self._follows:
            self._check(output)
        local = self._kv_cache.prefix_cache_stats
        prefix = self._no_lookups
        if local.requests or local.preempted_requests or self._connects:
            prefix = self._no_lookups, self._lookups(), self._lookups_before
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
        external = self._connects and self._scheduler.connector_prefix_cache_stats
        return (
            lookup_counters(self._kv_cache.prefix_cache_stats),
            lookup_counters(external) if external else NO_LOOKUPS,
        )

    def _compose(self, output, follows: bool) -> None:
        """Count the step's requests, tokens, chunks and context lengths: where it
        follows the last one, look only at what changed."""
        tokens = output.num_scheduled_tokens
        total = output.total_num_scheduled_tokens
        new = output.scheduled_new_reqs
        cached = output.scheduled_cached_reqs
        names = cached.req_ids
        contexts = self._contexts
        follows = follows and not cached.resumed_req_ids and self._let_go(names)
        resumed = self._resumed(output)
        recompute = self._recompute(resumed, tokens) if resumed or self._refill else 0

        # Like vLLM, call a request prefill while it is new or has no output.
        # Whoever has some keeps it until it is preempted.
        outputs = cached.num_output_tokens
        first = self._first_prefill if follows else 0
        places = places_of(0, outputs, first) if first < len(outputs) else []
        chunks: list[tuple[str, int]] = []
        lengths = []
        for i in places:
            name = names[i]
            lengths.append(self._add_chunk(chunks, name, tokens, name not in resumed))
        for request in new:
            lengths.append(self._add_chunk(chunks, request.req_id, tokens, False))
        count, prefills = len(tokens), len(chunks)
        prefill_tokens = 0
        for _, chunk in chunks:
            prefill_tokens += chunk

        # Prompts apart, as many tokens as requests is one token for each.
        if follows and total - prefill_tokens == count - prefills:
            contexts.grow()
            places += range(len(names), count)
            for i, length in zip(places, lengths):
                contexts.place(i, length)
        else:
            contexts.recount(context_lengths(output))
            self._names = names.copy()
        self._names += [request.req_id for request in new]
        self._first_prefill = places[0] if places else len(names)
        self._context_bins = contexts.bins.copy()

        self._composition = (
            total > 0,
            count,
            count - prefills,
            prefills,
            prefill_tokens,
            total - prefill_tokens,
            len(resumed),
            recompute,
            chunks or NO_CHUNKS,
        )
        self._steady = total == count and not (
            prefills or resumed or recompute or self._refill
        )

    def _let_go(self, names: list[str]) -> bool:
        """Let go of the last step's requests that are not among these; false where
        that does not make them the same, or counting all is quicker."""
        known, contexts = self._names, self._contexts
        gone = len(known) - len(names)
        if not 0 <= gone <= len(known) // 4:
            return False
        place = 0
        for _ in range(gone):
            # Requests keep their order: after one that is gone, all places differ.
            end = len(names)
            while place < end:
                middle = (place + end) // 2
                if known[middle] == names[middle]:
                    place = middle + 1
                else:
                    end = middle
            contexts.leave(place)
            del known[place]
            self._first_prefill -= place < self._first_prefill
        return known == names

    def _check(self, output) -> None:
        """Compare what was followed from step to step with a count of all."""
        followed = self._context_bins
        self._contexts.recount(context_lengths(output))
        self._context_bins = self._contexts.bins.copy()
        if self._context_bins != followed:
            self._follows = False
            logger.error(
                "OpProf lost track of the context lengths before step %d; from here "
                "on it counts every request in every step.",
                self._last_step,
            )

    def _forget(self, finished: set[str]) -> None:
        for name in finished:
            self._reached.pop(name, None)
            self._refill.pop(name, None)

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

    def _add_chunk(
        self,
        chunks: list[tuple[str, int]],
        name: str,
        tokens: dict[str, int],
        cached: bool,
    ) -> int:
        """Add a chunk's kind and tokens, and tell how far its request comes. What
        was cached may have an earlier part."""
        request = self._scheduler.requests[name]
        chunk = tokens[name]
        reached = request.num_computed_tokens + chunk
        # The mark outlives a preemption, after which all starts again.
        was_chunk = cached and request.is_prefill_chunk
        if reached < request.num_tokens + request.num_output_placeholders:
            self._reached[name] = max(reached, self._reached.get(name, 0))
            kind = "middle" if was_chunk else "first"
        else:
            if self._reached:
                self._reached.pop(name, None)
            kind = "final" if was_chunk else "unsplit"
        chunks.append((kind, chunk))
        return reached


class Contexts:
    """The context lengths of a step's requests, by place and counted in bins. All
    grow by one token a step, but for those that leave or are placed."""

    def __init__(self) -> None:
        self.bins = [0] * len(UPPER_EDGES)
        self._growth = 0
        self._starts: list[int] = []  # lengths less the growth
        self._crossings: defaultdict[int, list[int]] | None = None  # bins by growth

    def recount(self, lengths: list[int]) -> None:
        """Start anew with these lengths."""
        self._growth, self._starts, self._crossings = 0, lengths, None
        ordered = sorted(lengths)
        cuts = [bisect_right(ordered, edge) for edge in CONTEXT_EDGES]
        self.bins = list(map(sub, [*cuts, len(ordered)], [0, *cuts]))

    def grow(self) -> bool:
        """Let all grow; tell whether that changes the bins."""
        crossings = self._crossings
        if crossings is None:
            crossings = self._plan()
        self._growth = growth = self._growth + 1
        crossing = crossings.pop(growth, None)
        if crossing is None:
            return False
        for i in crossing:
            self.bins[i] -= 1
            self.bins[i + 1] += 1
            crossings[growth + UPPER_EDGES[i + 1] - UPPER_EDGES[i]].append(i + 1)
        return True

    def leave(self, place: int) -> None:
        """Forget a length; those behind it move up."""
        self._uncount(self._starts[place])
        del self._starts[place]

    def place(self, place: int, length: int) -> None:
        """Set the length at a place, or at the next one behind all."""
        start = length - self._growth
        if place < len(self._starts):
            self._uncount(self._starts[place])
            self._starts[place] = start
        else:
            self._starts.append(start)
        i = bisect_left(CONTEXT_EDGES, length)
        self.bins[i] += 1
        self._crossings[UPPER_EDGES[i] + 1 - start].append(i)

    def _uncount(self, start: int) -> None:
        crossings = self._crossings
        if crossings is None:
            crossings = self._plan()
        i = bisect_left(CONTEXT_EDGES, start + self._growth)
        self.bins[i] -= 1
        growth = UPPER_EDGES[i] + 1 - start
        crossing = crossings[growth]
        crossing.remove(i)
        if not crossing:
            del crossings[growth]

    def _plan(self) -> defaultdict[int, list[int]]:
        """At what growth lengths go from which bins into the next. Few counts are
        followed by a step that needs it."""
        self._crossings = crossings = defaultdict(list)
        bins = chain.from_iterable(map(repeat, range(len(self.bins)), self.bins))
        for start, i in zip(sorted(self._starts), bins):
            crossings[UPPER_EDGES[i] + 1 - start].append(i)
        return crossings


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
        *counts, chunks = composition
        if type(chunks) is not Chunks:
            chunks = describe_chunks(chunks)
        if type(prefix) is not Prefix:
            prefix = describe_lookups(*prefix)
        return encode(
            StepLine(
                SCHEMA,
                self._engine_id,
                index,
                wall,
                mono,
                complete,
                *counts,
                chunks,
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


def describe_lookups(none: Prefix, after: tuple, before: tuple) -> Prefix:
    """The lookups between two readings, where `none` says what is read at all."""
    local, external = (
        dict(zip(LOOKUPS, map(sub, new, old))) for new, old in zip(after, before)
    )
    return Prefix(
        None if none.local is None else local,
        None if none.external is None else external,
    )


def describe_chunks(parts: list[tuple[str, int]]) -> Chunks:
    """Count chunks, given as kind and tokens, by kind and size."""
    chunks = Chunks()
    for kind, tokens in parts:
        setattr(chunks, kind, getattr(chunks, kind) + 1)
        chunks.tokens += tokens
        if kind == "unsplit":
            chunks.unsplit_tokens += tokens
        size = bisect_left(CHUNK_EDGES, tokens)
        chunks.chunk_size_hist[size] += 1
        if size == len(CHUNK_EDGES):
            chunks.chunk_tail_hist[bisect_left(CHUNK_TAIL_EDGES, tokens)] += 1
    return chunks


def context_lengths(output) -> list[int]:
    """How far each request comes in this step, in the scheduler's order."""
    tokens, cached = output.num_scheduled_tokens, output.scheduled_cached_reqs
    lengths = [
        computed + tokens[name]
        for name, computed in zip(cached.req_ids, cached.num_computed_tokens)
    ]
    for request in output.scheduled_new_reqs:
        lengths.append(request.num_computed_tokens + tokens[request.req_id])
    return lengths


def places_of(value: int, values: list[int], first: int) -> list[int]:
    """The places from the first on that hold the value."""
    places = []
    place = first - 1
    for _ in range(values[first:].count(value)):
        place = values.index(value, place + 1)
        places.append(place)
    return places


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
