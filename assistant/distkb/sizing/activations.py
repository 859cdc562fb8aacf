"""Bytes that the forward pass keeps for the backward: counted tensor by tensor for the layers that people train.

The counts are what autograd saves in transformers' Llama and GPT-2 layers with `scaled_dot_product_attention`, which
keeps no matrix of sequence × sequence (checked by tests/sizing against `torch.autograd.graph.saved_tensors_hooks` and
the allocations of real runs). In bytes a token, h = hidden, a = heads × head_dim, f = intermediate:

- each of two norms: its input and its result, 4h + 2h + 2h with RMSNorm in float32, 2h + 2h with LayerNorm;
- attention: query, key, value and output, 2a each (grouped keys and values are repeated first);
- feed-forward: 2f a saved tensor: gate, its activation, up, their product; GPT-2's `gelu_new` is made of small steps
  that save four, and the last linear layer saves its input.

Under autocast the residual stream is float32 and every linear layer keeps its own low-precision copy of its input. A
GPU's autocast raises `pow` to float32, so three of the tensors that `gelu_new` saves are float32.

With LoRA nothing is kept for the frozen matrices and norms, whose gradient nobody asks for; but PEFT hands every
adapter its input in the adapter's dtype, so each adapted matrix keeps a float32 copy of its input.

In float32 with grouped keys and values no fused kernel takes the attention on a GPU (the memory-efficient one does not
group, FlashAttention has no float32), so the softmax's result of sequence × sequence a head is kept.

tests/sizing/measured_gpu.json holds what an H100 took.
"""

from __future__ import annotations

from dataclasses import dataclass

from distkb.sizing.shape import Shape, matrices

LOSS_SAVED = 4
"""`log_softmax` keeps its float32 result: bytes a token and word of the vocabulary."""
LOSS_WORKING = 8
"""The loss's backward holds two more float32 tensors of that size at its busiest."""


@dataclass(frozen=True)
class Activations:
    """What one micro-batch holds on one rank, in bytes."""

    kept: int
    """Saved for the backward when the forward is done, without the loss."""
    loss: int
    """Saved by the loss, and what its backward adds."""
    layer: int
    """What one layer saves: with checkpointing, one layer is recomputed at a time."""
    checkpointed: int
    """Saved where every layer is checkpointed: the layers' inputs."""

    def peak(self, *, checkpointing: bool) -> int:
        """Bytes at the busiest moment of forward and backward."""
        if not checkpointing:
            return self.kept + self.loss
        return self.checkpointed + max(self.loss, self.layer)


def activations(
    shape: Shape, *, sequence: int, batch: int, autocast: bool, full: bool = False, lora: bool = False
) -> Activations:
    """Return the bytes for `batch` sequences of `sequence` tokens on one rank.

    `autocast`: parameters are float32 and run under autocast; otherwise everything computes in 16 bits, as FSDP's and
    DeepSpeed's mixed precision do. `full`: everything is float32. `lora`: adapters are trained beside frozen matrices.
    """
    tokens = sequence * batch
    layer = tokens * (lora_bytes(shape) if lora and not full else token_bytes(shape, autocast=autocast, full=full))
    if full and shape.kv_heads < shape.heads:
        layer += tokens * sequence * shape.heads * 4
    stream = 4 if autocast or full else 2
    loss = tokens * shape.vocab * (LOSS_SAVED + LOSS_WORKING)
    return Activations(
        kept=layer * shape.layers + tokens * shape.hidden * stream * 3,
        loss=loss,
        layer=layer,
        checkpointed=tokens * shape.hidden * stream * (shape.layers + 3),
    )


def token_bytes(shape: Shape, *, autocast: bool, full: bool = False) -> int:
    """Return what one layer saves for one token, in bytes."""
    hidden, inner = shape.hidden, shape.intermediate
    attention = 4 * shape.heads * shape.head_dim
    if shape.gated:
        norms = {"full": 2 * (4 + 4 + 4), "autocast": 2 * (4 + 4) + 2 * 5, "low": 2 * (4 + 2 + 2)}
        feed = 4 * inner
    else:
        norms = {"full": 2 * (4 + 4), "autocast": 2 * 4 + 2 * 2, "low": 2 * (2 + 2)}
        feed = (8 if autocast else 5) * inner
    width = 4 if full else 2
    return norms["full" if full else "autocast" if autocast else "low"] * hidden + width * (attention + feed)


def lora_bytes(shape: Shape) -> int:
    """Return what one layer saves for one token where every matrix of it is frozen and has an adapter, in bytes."""
    hidden, inner = shape.hidden, shape.intermediate
    inputs = sum(columns for _, _, columns in matrices(shape))
    norms = 2 * (4 if shape.gated else 2)
    saved = 4 * shape.heads * shape.head_dim + (3 if shape.gated else 4) * inner
    return norms * hidden + 2 * saved + 4 * inputs
