"""Measures what real models take on a GPU in training, for `test_sizing.py` to hold the arithmetic against.

    python tests/sizing/measure_gpu.py tests/sizing/measured_gpu.json

Needs transformers and peft beside torch, and a GPU of 80 GB. Each case runs in a process of its own. Ranks beyond the
first are made up: torch's `fake` process group says yes to every collective and sends nothing, so this process
allocates what rank 0 of that many would, NCCL's own buffers excepted. The values that arrive are garbage.

The first micro-batches and a step come before the measured ones, so gradients and the optimizer's states are there.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import sys
from pathlib import Path
from typing import Any

LLAMA = {"model_type": "llama", "vocab_size": 128256, "rope_theta": 500000.0, "tie_word_embeddings": False}
SIZES = {"num_hidden_layers": 0, "hidden_size": 0, "intermediate_size": 0, "num_attention_heads": 0}


def llama(layers: int, hidden: int, inner: int, heads: int, kv_heads: int, *, tied: bool) -> dict[str, Any]:
    """Return the configuration of a model of Llama 3's form."""
    sizes = dict(zip(SIZES, (layers, hidden, inner, heads), strict=True))
    return LLAMA | sizes | {"num_key_value_heads": kv_heads, "head_dim": hidden // heads, "tie_word_embeddings": tied}


MODELS: dict[str, dict[str, Any]] = {
    "gpt2": {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}
    | dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0),
    "qwen2.5-0.5b": {"model_type": "qwen2", "vocab_size": 151936, "tie_word_embeddings": True, "num_key_value_heads": 2}
    | dict(zip(SIZES, (24, 896, 4864, 14), strict=True)),
    "qwen3-1.7b": {"model_type": "qwen3", "vocab_size": 151936, "tie_word_embeddings": True, "num_key_value_heads": 8}
    | dict(zip(SIZES, (28, 2048, 6144, 16), strict=True))
    | {"head_dim": 128},
    "llama-3.2-1b": llama(16, 2048, 8192, 32, 8, tied=True),
    "llama-3.2-3b": llama(28, 3072, 8192, 24, 8, tied=True),
    "llama-3-8b": llama(32, 4096, 14336, 32, 8, tied=False),
    "llama-3-70b": llama(80, 8192, 28672, 64, 8, tied=False),
}


def training(model: str, batch: int, sequence: int, precision: str, **more: Any) -> dict[str, Any]:
    """Return one training to measure; `more` are strategy and gpus, optimizer, checkpointing and LoRA's rank."""
    return {"model": model, "batch": batch, "sequence": sequence, "precision": precision} | more


CASES = (
    training("gpt2", 8, 1024, "bf16"),
    training("gpt2", 8, 1024, "fp32"),
    training("gpt2", 16, 1024, "bf16", checkpointing=True),
    training("qwen2.5-0.5b", 4, 2048, "bf16"),
    training("qwen3-1.7b", 2, 2048, "bf16"),
    training("qwen3-1.7b", 2, 4096, "pure-bf16", checkpointing=True),
    training("llama-3.2-1b", 4, 2048, "bf16"),
    training("llama-3.2-1b", 4, 2048, "pure-bf16"),
    training("llama-3.2-1b", 2, 8192, "bf16", checkpointing=True),
    training("llama-3.2-1b", 1, 2048, "bf16", optimizer="sgd"),
    training("llama-3.2-1b", 1, 2048, "bf16", optimizer="sgd-momentum"),
    training("llama-3.2-1b", 2, 2048, "bf16", strategy="ddp", gpus=8),
    training("llama-3.2-3b", 1, 2048, "pure-bf16"),
    training("llama-3.2-1b", 4, 2048, "bf16", lora=16),
    training("llama-3-8b", 1, 2048, "bf16", lora=16),
    training("llama-3-8b", 2, 4096, "bf16", lora=16, checkpointing=True),
    training("llama-3.2-3b", 1, 4096, "bf16", strategy="fsdp2", gpus=8),
    training("llama-3.2-3b", 1, 2048, "fp32", strategy="fsdp2", gpus=8),
    training("llama-3.2-3b", 1, 2048, "bf16", strategy="full_shard", gpus=8),
    training("llama-3.2-3b", 1, 2048, "bf16", strategy="shard_grad_op", gpus=8),
    training("llama-3.2-3b", 1, 2048, "bf16", strategy="fsdp2_no_reshard", gpus=8),
    training("llama-3-8b", 1, 4096, "bf16", strategy="fsdp2", gpus=8),
    training("llama-3-8b", 1, 4096, "bf16", strategy="full_shard", gpus=8),
    training("llama-3-8b", 2, 8192, "bf16", strategy="fsdp2", gpus=8, checkpointing=True),
    training("llama-3-8b", 1, 2048, "bf16", strategy="fsdp2_hybrid", gpus=16),
    training("llama-3-8b", 1, 2048, "pure-bf16", strategy="fsdp2", gpus=4),
    training("llama-3-8b", 1, 2048, "bf16", strategy="fsdp2_offload", gpus=8),
    training("llama-3-70b", 1, 4096, "bf16", strategy="fsdp2", gpus=64, checkpointing=True),
    training("llama-3-70b", 1, 1024, "bf16", strategy="fsdp2", gpus=128),
)


def built(case: dict[str, Any]) -> Any:
    """Return the model of a case, on the GPU and wrapped."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    fields = dict(MODELS[case["model"]])
    config = AutoConfig.for_model(fields.pop("model_type"), **fields, use_cache=False)
    strategy, precision = case.get("strategy", "ddp"), case["precision"]
    low = precision == "pure-bf16" or case.get("lora")
    torch.set_default_dtype(torch.bfloat16 if low else torch.float32)
    with torch.device("meta" if "fsdp2" in strategy else "cuda"):
        model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    torch.set_default_dtype(torch.float32)
    model.train()
    if case.get("checkpointing"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if case.get("lora"):
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=case["lora"], target_modules="all-linear", task_type="CAUSAL_LM"))
        if case.get("checkpointing"):
            model.enable_input_require_grads()
    if case.get("gpus", 1) > 1:
        model = wrapped(model, strategy, case)
    return model


def unchanged(_state: Any, bucket: Any) -> Any:
    """Return a bucket of DDP's as if it had been reduced."""
    import torch

    future: Any = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def wrapped(model: Any, strategy: str, case: dict[str, Any]) -> Any:
    """Wrap a model as the strategy says, over made-up ranks."""
    import functools

    import torch
    from torch import distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    ranks = case["gpus"]
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    layers = model.model.layers
    low = torch.bfloat16 if case["precision"] == "bf16" else None
    if strategy == "ddp":
        replicated = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
        # The made-up group's work has no result for the reducer to read; it gets the bucket itself.
        bucket = torch._C._distributed_c10d.GradBucket
        unchanged.__annotations__ = {"bucket": bucket, "return": torch.futures.Future[torch.Tensor]}
        replicated.register_comm_hook(None, unchanged)
        return replicated
    if strategy.startswith("fsdp2"):
        from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard

        hybrid = strategy == "fsdp2_hybrid"
        shape, names = ((ranks // 8, 8), ("replicate", "shard")) if hybrid else ((ranks,), ("shard",))
        mesh = init_device_mesh("cuda", shape, mesh_dim_names=names)
        offload = CPUOffloadPolicy() if strategy == "fsdp2_offload" else OffloadPolicy()
        policy = MixedPrecisionPolicy(param_dtype=low)
        reshard = None if strategy != "fsdp2_no_reshard" else False
        for one in (*layers, model):
            fully_shard(one, mesh=mesh, mp_policy=policy, offload_policy=offload, reshard_after_forward=reshard)
        model.to_empty(device="cpu" if strategy == "fsdp2_offload" else "cuda")
        for buffer in model.buffers():
            buffer.data = buffer.data.cuda()
        return model
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    return FullyShardedDataParallel(
        model,
        sharding_strategy=ShardingStrategy[strategy.upper()],
        auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={type(layers[0])}),
        mixed_precision=MixedPrecision(param_dtype=low, reduce_dtype=low) if low else None,
        device_id=0,
        use_orig_params=True,
    )


def optimizer_of(case: dict[str, Any], model: Any) -> Any:
    """Return the optimizer of a case."""
    import torch

    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if case.get("optimizer", "adamw") == "adamw":
        return torch.optim.AdamW(trained, lr=1e-5)
    return torch.optim.SGD(trained, lr=1e-5, momentum=0.9 if case["optimizer"] == "sgd-momentum" else 0.0)


def advised(case: dict[str, Any]) -> int:
    """Return the bytes that distkb says the allocator needs for a case: the tensors, and what it cannot use."""
    from distkb.sizing.shape import from_config
    from distkb.sizing.strategies import CONTEXT, GIB, Workload, strategies

    names = ("sequence", "batch", "precision", "optimizer", "lora")
    asked = {name: case[name] for name in names if name in case}
    gpus = case.get("gpus", 1)
    run = Workload(gpus=gpus, per_node=min(8, gpus), gpu_memory=80 * GIB, **asked)
    rows = {row.name: row for row in strategies(from_config(MODELS[case["model"]]), run)}
    return rows[case.get("strategy", "ddp")].peak(checkpointing=bool(case.get("checkpointing"))) - CONTEXT


def measured(case: dict[str, Any], limit: int | None = None) -> dict[str, Any]:
    """Return the bytes of one case: at rest, at the peaks of a micro-batch and of the step, reserved and besides.

    With `limit` the allocator may take no more than so many from the device, whatever it would like to keep.
    """
    import torch

    torch.cuda.set_device(0)
    if limit is not None:
        torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.mem_get_info()[1])
    model = built(case)
    optimizer = optimizer_of(case, model)
    autocast = case["precision"] == "bf16" and case.get("strategy", "ddp") == "ddp" and not case.get("lora")
    tokens = torch.randint(0, 1000, (case["batch"], case["sequence"]), device="cuda")

    def micro_batch() -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()

    peaks: list[int] = []
    for _ in range(2):
        micro_batch()
        rest = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        micro_batch()
        torch.cuda.synchronize()
        peaks.append(torch.cuda.max_memory_allocated())
        torch.cuda.reset_peak_memory_stats()
        optimizer.step()
        torch.cuda.synchronize()
        peaks.append(torch.cuda.max_memory_allocated())
        if len(peaks) == 2:
            optimizer.zero_grad()
    free, total = torch.cuda.mem_get_info()
    reserved = torch.cuda.memory_reserved()
    return case | {
        "config": MODELS[case["model"]],
        "at_rest": rest,
        "micro_batch_peak": peaks[2],
        "step_peak": peaks[3],
        "reserved": reserved,
        "besides": total - free - reserved,
        "retries": torch.cuda.memory_stats()["num_alloc_retries"],
        "gpu": torch.cuda.get_device_name(0),
    }


def carried_out(case: dict[str, Any], limit: int | None, answers: Any) -> None:
    """Measure one case, in a process of its own; an error is an answer too."""
    try:
        answers.put(measured(case, limit))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other cases go on
        answers.put(f"{type(error).__name__}: {str(error).splitlines()[0][:300]}")


def alone(case: dict[str, Any], limit: int | None = None) -> Any:
    """Return what a process of its own measured, or its error."""
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    process = fork.Process(target=carried_out, args=(case, limit, answers))
    process.start()
    answer = answers.get()
    process.join()
    return answer


def main() -> None:
    """Run every case in a process of its own, forked before CUDA is touched, and write what all of them took."""
    models = (f"transformers.models.{name}.modeling_{name}" for name in ("gpt2", "llama", "qwen2", "qwen3"))
    loaded = [importlib.import_module(name) for name in ("torch", "transformers", "peft", *models)]
    versions = {one.__name__: str(one.__version__) for one in loaded[:3]}
    out: dict[str, Any] = {"versions": versions, "runs": []}
    for case in CASES:
        answer = alone(case)
        if isinstance(answer, str):
            sys.stderr.write(f"{case}: {answer}\n")
            continue
        limit = advised(case)
        again = alone(case, limit)
        answer["limit"], answer["runs_in_limit"] = limit, not isinstance(again, str)
        answer["retries_in_limit"] = 0 if isinstance(again, str) else again["retries"]
        del answer["retries"]
        out["gpu"] = answer.pop("gpu")
        out["runs"].append(answer)
        Path(sys.argv[1]).write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
