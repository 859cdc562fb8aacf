"""Published models by name, for those who do not know the dimensions of theirs."""

from __future__ import annotations

from dataclasses import replace

from distkb.sizing.shape import TYPICAL, Shape

_NAMES = (
    "gpt2",
    "qwen2.5-0.5b",
    "llama-3.2-1b",
    "llama-3.2-3b",
    "llama-3-8b",
    "qwen2.5-14b",
    "qwen2.5-32b",
    "llama-3-70b",
    "llama-3-405b",
)


def _published(name: str, shape: Shape) -> Shape:
    """Return the model itself: Qwen2's query, key and value have biases, which a typical model has not."""
    return replace(shape, attention_bias=name.startswith("qwen2"), source="config")


PRESETS: dict[str, Shape] = {name: _published(name, shape) for name, shape in zip(_NAMES, TYPICAL, strict=True)} | {
    "llama-2-7b": Shape(32, 4096, 32, 32, 128, 11008, 32000, source="config"),
    "llama-2-13b": Shape(40, 5120, 40, 40, 128, 13824, 32000, source="config"),
    "mistral-7b": Shape(32, 4096, 32, 8, 128, 14336, 32000, source="config"),
}
"""By name in lower case; the smallest of each line first."""
