"""Write a tiny Qwen3-MoE model folder: make_model.py FOLDER

A configuration and a byte-level tokenizer, in which one ASCII character is one
token; no weights, so serve it with --load-format dummy. Four workers can share
it: a smaller share of an expert has no CPU kernel. Needs the tokenizers
and transformers packages that vLLM itself depends on.
"""

import json
import pathlib
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

LENGTH = 40960
BEGIN, END = "<s>", "</s>"
CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "torch_dtype": "bfloat16",
    "bos_token_id": 256,
    "eos_token_id": 257,
    "vocab_size": 512,
    "hidden_size": 128,
    "intermediate_size": 512,
    "moe_intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "num_experts": 16,
    "num_experts_per_tok": 4,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "norm_topk_prob": True,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "max_position_embeddings": LENGTH,
    "tie_word_embeddings": False,
}


def byte_tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = sorted(pre_tokenizers.ByteLevel.alphabet()) + [BEGIN, END]
    ids = {token: i for i, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        model_max_length=LENGTH,
        chat_template="{% for m in messages %}{{ m['content'] }}{% endfor %}",
    )


def main(folder: str) -> None:
    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(CONFIG, indent=2))
    byte_tokenizer().save_pretrained(path)


main(*sys.argv[1:])
