# SPDX-License-Identifier: Apache-2.0
"""OpProf's recorder, driven by real schedulers on a CPU."""

import json
import random

import pytest
import torch

from vllm.compilation.cuda_graph import CUDAGraphStat
from vllm.config import CacheConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
)
from vllm.v1.outputs import EMPTY_MODEL_RUNNER_OUTPUT, ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager

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


class Engine:
    """A real scheduler whose model answers token 7 to everything."""

    def __init__(
        self,
        folder,
        *,
        batches=1,
        blocks=10_000,
        budget=8192,
        requests=64,
        caching=False,
        log_stats=True,
        v2_runner=False,
    ):
        model = folder / "model"
        model.mkdir(exist_ok=True)
        (model / "config.json").write_text(json.dumps(MODEL))
        limits = dict(max_model_len=131072, is_encoder_decoder=False)
        config = VllmConfig(
            model_config=ModelConfig(
                model=str(model), skip_tokenizer_init=True, max_model_len=131072
            ),
            scheduler_config=SchedulerConfig(
                **limits,
                max_num_seqs=requests,
                max_num_batched_tokens=budget,
                enable_chunked_prefill=True,
                async_scheduling=batches > 1,
            ),
            cache_config=CacheConfig(
                block_size=BLOCK, enable_prefix_caching=caching
            ),
        )
        config.cache_config.num_gpu_blocks = blocks
        spec = FullAttentionSpec(
            block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32
        )
        groups = [KVCacheGroupSpec(["layer"], spec)]
        init_none_hash(sha256)
        self.hasher = get_request_block_hasher(BLOCK, sha256)
        self.batches = batches
        self.in_flight = []
        self.scheduler = (AsyncScheduler if batches > 1 else Scheduler)(
            config,
            KVCacheConfig(
                num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=groups
            ),
            StructuredOutputManager(config),
            BLOCK,
            log_stats=log_stats,
        )

    def add(self, name, prompt, outputs=16):
        """Add a request; prompt is its tokens, or how many different ones."""
        if isinstance(prompt, int):
            prompt = [hash((name, i)) % 500 for i in range(prompt)]
        params = SamplingParams(max_tokens=outputs, ignore_eos=True)
        params.update_from_generation_config({}, 2)
        self.scheduler.add_request(
            Request(name, prompt, params, None, block_hasher=self.hasher)
        )

    def schedule(self):
        output = self.scheduler.schedule()
        samples = {
            name: [] if self.scheduler.requests[name].is_prefill_chunk else [7]
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
