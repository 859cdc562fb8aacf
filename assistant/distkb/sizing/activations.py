"""Bytes that the forward pass keeps for the backward: counted tensor by tensor for the layers that people train.

The counts are what autograd saves in transformers' Llama and GPT-2 layers with `scaled_dot_product_attention`, which
keeps no matrix of sequence × sequence (checked by tests/sizing against `torch.autograd.graph.saved_tensors_hooks` and
the allocations of real runs). In bytes a token, h = hidden, a = heads × head_dim, f = intermediate:

- each of two norms: its input and its result, 4h + 2h + 2h with RMSNorm in float32, 2h + 2h with LayerNorm;
- attention: query, key, value and output, 2a each (grouped keys and values are repeated first);
- feed-forward: 2f a saved tensor: gate, its activation, up, their product; GPT-2's `gelu_new` is made of small steps
  that save four, and the last linear layer saves its input.

Under autocast the residual stream is float32 and every linear layer keeps its own low-precision copy of its input.
"""

from __future__ import annotations

from dataclasses import dataclass

from distkb.sizing.shape import Shape

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


def activations(shape: Shape, *, sequence: int, batch: int, autocast: bool, full: bool = False) -> Activations:
    """Return the bytes for `batch` sequences of `sequence` tokens on one rank.

    `autocast`: parameters are float32 and run under autocast; otherwise everything computes in 16 bits, as FSDP's and
    DeepSpeed's mixed precision do. `full`: everything is float32.
    """
    tokens = sequence * batch
    layer = tokens * token_bytes(shape, autocast=autocast, full=full)
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
        feed = 5 * inner
    width = 4 if full else 2
    return norms["full" if full else "autocast" if autocast else "low"] * hidden + width * (attention + feed)
