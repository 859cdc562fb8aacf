"""Inputs of the golden token file: `python tests/search/golden_inputs.py` writes it again after a wanted change."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from distkb.search.tokens import pieces

GOLDEN = Path(__file__).parent / "golden" / "tokens.json"

INPUTS = (
    "",
    "hang barrier",
    "hangs hanging hanged",
    "Ran out of memory while saving checkpoints",
    "stopped running processes stuck in classes and batches",
    "torchrun으로 LOCAL_RANK를 설정",
    "NCCL에서 GPU가 GPU를",
    "GPU메모리 8장으로 2대의 0번만 32GB에서",
    "집합 통신 집합통신이 행이 걸려요",
    "행",
    unicodedata.normalize("NFD", "배리어에서 멈춤"),
    "ｆｓｄｐ　ＦＵＬＬ＿ＳＨＡＲＤ １２",
    "DistributedDataParallel distributeddataparallel",
    "SyncBatchNorm convert_sync_batchnorm PyTorch DeepSpeed NaN InfiniBand",
    "GPUs OOMs FSDPs GPT2LMHeadModel",
    "stage3_gather_16bit_weights_on_model_save",
    "--nproc_per_node=8 --nproc-per-node 8",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL __init__",
    "torch.distributed.DistStoreError: Timed out after 601 seconds. 1/2 clients joined.",
    "c10d::allreduce_ at::Tensor",
    "failed (exitcode: -9) local_rank: 0 (pid: 14447)",
    "return code 137, 5-9, x[0]-1",
    "torch 2.13.0+cpu v2.10 CUDA 12.8 127.0.0.1:29500",
    "bf16 fp32 fsdp2 zero-3 ZeRO3 stage3 70B",
    "/home/user/train.py default_config.yaml",
    "왜 멈추나요? 어떻게 해야 하나요",
    "에러가 나요 ㅠㅠ ㅋㅋ",
    "naïve Ünïcode привет 漢字 🙂",
)


def golden() -> list[dict[str, object]]:
    """Compute what the golden file holds: per input its tokens as [text, kind] and its atoms by piece."""
    return [
        {
            "input": text,
            "tokens": [list(token) for piece in found for token in piece.tokens],
            "atoms": [list(piece.atoms) for piece in found],
        }
        for text in INPUTS
        for found in [pieces(text)]
    ]


if __name__ == "__main__":
    rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in golden())
    GOLDEN.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
