"""D16: ZeRO-2 on eight GPUs for a model whose parameters alone fill most of each GPU.

python repro.py [--fixed]

No GPU: the model is built on the meta device, its bytes are counted for each stage, and the count is checked against
tensors that torch really makes for a small copy of it.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path

import torch
from torch import nn

GIB = 2**30
RANKS, GPU_GIB = 8, 79.15
log = logging.getLogger("train")


def transformer(width: int, layers: int, vocabulary: int) -> nn.Module:
    layer = [
        nn.TransformerEncoderLayer(width, max(1, width // 128), 4 * width, batch_first=True, norm_first=True)
        for _ in range(layers)
    ]
    return nn.Sequential(nn.Embedding(vocabulary, width), *layer, nn.Linear(width, vocabulary, bias=False))


def bytes_per_parameter(stage: int, ranks: int, *, param_offload: bool) -> dict[str, float]:
    """Return the bytes that one parameter takes on one GPU: bf16 weight and gradient, fp32 copy and two moments."""
    weight = 2 / ranks if stage == 3 else 2
    return {
        # Offload of parameters exists in stage 3 only.
        "weights": 0.0 if stage == 3 and param_offload else weight,
        "gradients": 2 / ranks if stage >= 2 else 2,
        "optimizer": 12 / ranks if stage >= 1 else 12,
    }


def measured_bytes() -> float:
    """Return the bytes a parameter takes without sharding, counted on the tensors of a small model."""
    small = transformer(width=128, layers=1, vocabulary=512).bfloat16()
    masters = [param.detach().float().requires_grad_() for param in small.parameters()]
    optimizer = torch.optim.Adam(masters, foreach=False)
    for param, master in zip(small.parameters(), masters, strict=True):
        param.grad = torch.zeros_like(param)
        master.grad = param.grad.float()
    optimizer.step()
    for master in masters:
        master.grad = None
    moments = [state[name] for state in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    tensors = [*small.parameters(), *(param.grad for param in small.parameters()), *masters, *moments]
    return sum(t.numel() * t.element_size() for t in tensors) / sum(param.numel() for param in masters)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="stage 3, which divides the parameters too")
    fixed = parser.parse_args().fixed
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [rank0] %(levelname)s %(message)s", stream=sys.stderr)
    zero: dict[str, object] = {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True} if fixed else {"stage": 2}
    if not fixed:
        zero["offload_param"] = {"device": "cpu"}
    config = {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "zero_optimization": zero}
    Path("ds_config.json").write_text(json.dumps(config, indent=2))

    whole = sum(bytes_per_parameter(0, 1, param_offload=False).values())
    assert abs(measured_bytes() - whole) < 0.01, "the formula does not agree with the tensors"
    with torch.device("meta"):
        model = transformer(width=6144, layers=60, vocabulary=50_000)
    count = sum(param.numel() for param in model.parameters())
    stage = int(zero["stage"])
    log.info("%.1f billion parameters, ZeRO stage %d on %d GPUs", count / 1e9, stage, RANKS)
    used = 0.0
    for name, each in bytes_per_parameter(stage, RANKS, param_offload="offload_param" in zero).items():
        wanted = count * each / GIB
        if used + wanted > GPU_GIB:
            message = (
                f"CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU 0 has a total capacity of {GPU_GIB} GiB "
                f"of which {GPU_GIB - used:.2f} GiB is free. ({name}: {each:.2f} bytes a parameter)"
            )
            raise torch.OutOfMemoryError(message)
        used += wanted
        if name == "weights" and each == 2:
            log.info("ZeRO stage %d does not divide the weights: %.1f GiB on every GPU", stage, wanted)
        log.info("%s: %.2f bytes a parameter, %.1f GiB, together %.1f GiB", name, each, wanted, used)
    log.info("%.1f GiB of %.1f GiB are left for activations and buffers", GPU_GIB - used, GPU_GIB)


if __name__ == "__main__":
    main()
