"""The shape of a decoder-only transformer: given, read from a `config.json`, or typical of a number of parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from distkb_probes.sharding.plan import Param, Plan, Unit

Source = Literal["typical", "config"]

MULTIPLE = 64
"""Widths are multiples of this: what kernels like, and what published models do."""


class ShapeError(ValueError):
    """A number or a configuration that describes no such model; its text is a key of the interface's sentences."""

    def __init__(self, sentence: str, **values: Any) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.values = values


@dataclass(frozen=True)
class Shape:
    """The dimensions that decide the memory of a decoder-only transformer."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    gated: bool = True
    """Three matrices in the feed-forward part and RMSNorm (Llama) or two and LayerNorm (GPT-2)."""
    tied: bool = False
    """Whether the output layer is the embedding."""
    positions: int = 0
    """Rows of a learned position embedding."""
    attention_bias: bool = False
    """Whether query, key and value have biases in a gated model (Qwen2)."""
    source: Source = "typical"

    @property
    def parameters(self) -> int:
        """Number of parameters: what `decoder` lists, added up without listing it."""
        each = sum(rows * columns for _, rows, columns in matrices(self))
        each += (2 if self.gated else 4) * self.hidden
        each += sum(rows for name, rows, _ in matrices(self) if _has_bias(self, name))
        words = self.vocab * self.hidden * (1 if self.tied else 2)
        outer = words + self.positions * self.hidden + self.hidden * (1 if self.gated else 2)
        return outer + self.layers * each


TYPICAL: tuple[Shape, ...] = (
    Shape(12, 768, 12, 12, 64, 3072, 50257, gated=False, tied=True, positions=1024),
    Shape(24, 896, 14, 2, 64, 4864, 151936, tied=True),
    Shape(16, 2048, 32, 8, 64, 8192, 128256, tied=True),
    Shape(28, 3072, 24, 8, 128, 8192, 128256, tied=True),
    Shape(32, 4096, 32, 8, 128, 14336, 128256),
    Shape(48, 5120, 40, 8, 128, 13824, 152064),
    Shape(64, 5120, 40, 8, 128, 27648, 152064),
    Shape(80, 8192, 64, 8, 128, 28672, 128256),
    Shape(126, 16384, 128, 8, 128, 53248, 128256),
)
"""Published dense models from 0.1B to 405B: GPT-2, Qwen2.5 0.5B, Llama 3.2 1B and 3B, Llama 3 8B, Qwen2.5 14B and 32B,
Llama 3 70B and 405B (their `config.json`). Between them the nearest one is scaled."""


def typical(parameters: int) -> Shape:
    """Return the shape of a dense decoder with about `parameters` parameters (within 1 %).

    The published model that is nearest by ratio is scaled: depth with the cube root of the ratio, width for the rest,
    and the feed-forward width takes up what rounding leaves. Raises ShapeError below 20 million and above 10 trillion.
    """
    if not 2 * 10**7 <= parameters <= 10**13:
        raise ShapeError("advise.error.parameters")
    near = min(TYPICAL, key=lambda shape: abs(math.log(shape.parameters / parameters)))
    ratio = parameters / near.parameters
    if abs(ratio - 1) < 0.005:
        return near
    layers = max(2, round(near.layers * ratio ** (1 / 3)))
    fixed = replace(near, layers=layers)
    best = min(
        (_wide(fixed, width) for width in range(MULTIPLE, near.hidden * 4 + 1, MULTIPLE)),
        key=lambda shape: abs(shape.parameters - parameters),
    )
    return _filled(best, parameters)


def _wide(shape: Shape, hidden: int) -> Shape:
    groups = max(1, shape.heads // shape.kv_heads)
    heads = groups * max(1, round(hidden / shape.head_dim / groups))
    return replace(
        shape,
        hidden=hidden,
        heads=heads,
        kv_heads=heads // groups,
        intermediate=max(MULTIPLE, round(hidden * shape.intermediate / shape.hidden / MULTIPLE) * MULTIPLE),
    )


def _filled(shape: Shape, parameters: int) -> Shape:
    """Take up the difference to `parameters` in the feed-forward width."""
    matrices = 3 if shape.gated else 2
    step = shape.layers * matrices * shape.hidden
    width = shape.intermediate + round((parameters - shape.parameters) / step / 8) * 8
    return replace(shape, intermediate=max(shape.hidden, width))


KEYS = {
    "layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "heads": ("num_attention_heads", "n_head"),
    "kv_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim",),
    "intermediate": ("intermediate_size", "n_inner", "ffn_dim"),
    "vocab": ("vocab_size",),
    "positions": ("n_positions",),
}
"""Keys of transformers' `config.json`: the common names, then those of GPT-2 and OPT."""

EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
UNGATED = frozenset({"gpt2", "opt", "gpt_neox", "bloom", "gptj"})
"""Model types whose feed-forward part has two matrices, and LayerNorm."""


def from_config(document: Mapping[str, Any]) -> Shape:
    """Return the shape that a Hugging Face `config.json` describes.

    Raises ShapeError where a dimension is missing or is no positive integer, and for mixtures of experts, whose memory
    this does not model.
    """
    text = document.get("text_config")
    if isinstance(text, Mapping):
        document = {**document, **text}
    for key in EXPERTS:
        if isinstance(document.get(key), int) and document[key] > 1:
            raise ShapeError("advise.error.experts", key=key)
    layers, hidden, heads = (_whole(document, name) for name in ("layers", "hidden", "heads"))
    if not (layers and hidden and heads):
        missing = next(name for name, got in zip(KEYS, (layers, hidden, heads), strict=False) if not got)
        raise ShapeError("advise.error.config-key", key=KEYS[missing][0])
    kind = document.get("model_type")
    gated = "n_embd" not in document and not (isinstance(kind, str) and kind in UNGATED)
    vocab = _whole(document, "vocab")
    if not vocab:
        raise ShapeError("advise.error.config-key", key="vocab_size")
    tied = document.get("tie_word_embeddings", not gated)
    return Shape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=_whole(document, "kv_heads") or heads,
        head_dim=_whole(document, "head_dim") or max(1, hidden // heads),
        intermediate=_whole(document, "intermediate") or 4 * hidden,
        vocab=vocab,
        gated=gated,
        tied=tied is True,
        positions=0 if gated else _whole(document, "positions"),
        attention_bias=document.get("attention_bias") is True or kind == "qwen2",
        source="config",
    )


def _whole(document: Mapping[str, Any], name: str) -> int:
    """Return a positive integer under one of a dimension's keys, or 0."""
    for key in KEYS[name]:
        value = document.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9:
            return value
    return 0


def decoder(shape: Shape, *, dtype: str = "float32", lora: int = 0) -> Plan:
    """Return the model's parameters, one unit a layer and the rest in the root, as FSDP wraps a transformer.

    With `lora`, adapters of that rank in float32 stand beside every matrix of the layers and the rest is frozen.
    """
    layers = tuple(
        Unit(f"layers.{index}", "DecoderLayer", tuple(_layer(shape, f"layers.{index}", dtype, lora)))
        for index in range(shape.layers)
    )
    trainable = not lora
    outer = [Param("embed", (shape.vocab, shape.hidden), dtype, trainable)]
    if shape.positions:
        outer.append(Param("positions", (shape.positions, shape.hidden), dtype, trainable))
    outer += [Param("norm", (shape.hidden,), dtype, trainable) for _ in range(1 if shape.gated else 2)]
    if not shape.tied:
        outer.append(Param("head", (shape.vocab, shape.hidden), dtype, trainable))
    root = Unit("", "Decoder", tuple(outer), root=True)
    every = (*outer, *(param for unit in layers for param in unit.params))
    return Plan("none", (root, *layers), every)


def matrices(shape: Shape) -> list[tuple[str, int, int]]:
    """Return name, rows and columns of every matrix of one layer."""
    attention = shape.heads * shape.head_dim
    kv = shape.kv_heads * shape.head_dim
    out = [
        ("q", attention, shape.hidden),
        ("k", kv, shape.hidden),
        ("v", kv, shape.hidden),
        ("o", shape.hidden, attention),
        ("up", shape.intermediate, shape.hidden),
        ("down", shape.hidden, shape.intermediate),
    ]
    return [*out, ("gate", shape.intermediate, shape.hidden)] if shape.gated else out


def _has_bias(shape: Shape, matrix: str) -> bool:
    return not shape.gated or (shape.attention_bias and matrix in ("q", "k", "v"))


def _layer(shape: Shape, name: str, dtype: str, lora: int) -> list[Param]:
    out = []
    for matrix, rows, columns in matrices(shape):
        out.append(Param(f"{name}.{matrix}", (rows, columns), dtype, not lora))
        if _has_bias(shape, matrix):
            out.append(Param(f"{name}.{matrix}.bias", (rows,), dtype, not lora))
        if lora:
            out.append(Param(f"{name}.{matrix}.lora_a", (lora, columns), "float32"))
            out.append(Param(f"{name}.{matrix}.lora_b", (rows, lora), "float32"))
    norms = 2 if shape.gated else 4
    out += [Param(f"{name}.norm{index}", (shape.hidden,), dtype, not lora) for index in range(norms)]
    return out
