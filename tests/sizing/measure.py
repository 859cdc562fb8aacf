"""Measures what real models allocate in training, on the CPU, for `test_sizing.py` to hold the arithmetic against.

Needs transformers beside torch: `python tests/sizing/measure.py > tests/sizing/measured.json` in such an environment.
Every allocation of the second of two micro-batches and of the optimizer's step is recorded by torch's profiler, so the
first micro-batch's gradients are there and the optimizer's states exist, as in the middle of any training. Where a GPU
computes by other kernels (`gelu_new` under autocast, grouped attention in float32) `measure_gpu.py` measures there.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

CONFIGS: dict[str, tuple[type, type, dict[str, Any]]] = {
    "gpt2": (GPT2Config, GPT2LMHeadModel, {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}),
    "qwen2.5-0.5b": (
        Qwen2Config,
        Qwen2ForCausalLM,
        {
            "hidden_size": 896,
            "intermediate_size": 4864,
            "num_hidden_layers": 24,
            "num_attention_heads": 14,
            "num_key_value_heads": 2,
            "vocab_size": 151936,
            "tie_word_embeddings": True,
        },
    ),
    "llama-8-layers": (
        LlamaConfig,
        LlamaForCausalLM,
        {
            "hidden_size": 1024,
            "intermediate_size": 2816,
            "num_hidden_layers": 8,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
            "vocab_size": 32000,
        },
    ),
}
RUNS = (
    ("gpt2", 1, 512, "pure-bf16", False),
    ("gpt2", 1, 1024, "fp32", False),
    ("gpt2", 2, 512, "bf16", True),
    ("llama-8-layers", 1, 512, "pure-bf16", False),
    ("llama-8-layers", 2, 512, "pure-bf16", True),
    ("llama-8-layers", 1, 1024, "bf16", False),
    ("qwen2.5-0.5b", 1, 256, "pure-bf16", False),
    ("qwen2.5-0.5b", 1, 256, "bf16", False),
)


def measured(name: str, batch: int, sequence: int, precision: str, checkpointing: bool) -> dict[str, Any]:
    """Return the bytes of one run: states at rest, and the peaks of the second micro-batch and of the step."""
    torch.manual_seed(0)
    config_type, model_type, dimensions = CONFIGS[name]
    config = config_type(**dimensions, use_cache=False)
    config._attn_implementation = "sdpa"
    torch.set_default_dtype(torch.bfloat16 if precision == "pure-bf16" else torch.float32)
    model = model_type(config)
    torch.set_default_dtype(torch.float32)
    model.train()
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    tokens = torch.randint(0, 1000, (batch, sequence))

    def micro_batch() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()

    micro_batch()
    optimizer.step()
    optimizer.zero_grad()
    micro_batch()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        micro_batch()
        with record_function("STEP"):
            optimizer.step()
    events = list(recorded.profiler.kineto_results.events())
    step_at = next(event.start_ns() for event in events if event.name() == "STEP")
    changes = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    held = peak = step_peak = 0
    for at, change in changes:
        held += change
        if at < step_at:
            peak = max(peak, held)
        else:
            step_peak = max(step_peak, held)
    return {
        "model": name,
        "config": config.to_diff_dict() | dimensions,
        "batch": batch,
        "sequence": sequence,
        "precision": precision,
        "checkpointing": checkpointing,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "parameter_bytes": sum(parameter.nbytes for parameter in model.parameters()),
        "gradient_bytes": sum(p.grad.nbytes for p in model.parameters() if p.grad is not None),
        "optimizer_bytes": sum(t.nbytes for state in optimizer.state.values() for t in state.values() if t.numel() > 1),
        "micro_batch_peak": peak,
        "step_peak": step_peak,
    }


if __name__ == "__main__":
    versions = {"torch": torch.__version__, "transformers": __import__("transformers").__version__}
    json.dump({"versions": versions, "runs": [measured(*run) for run in RUNS]}, sys.stdout, indent=1, default=str)
