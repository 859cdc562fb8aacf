"""Records what `accelerate estimate-memory` says of models: `python estimate.py > estimates.json`, with transformers.

It is accelerate's own code on transformers' own models; only the question to the Hub whether a model exists is
answered here, because the configurations lie in a folder of this machine.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import tempfile
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

MODELS: dict[str, dict[str, Any]] = {
    "gpt2": {"model_type": "gpt2"},
    "qwen2.5-0.5b": {
        "model_type": "qwen2",
        "num_hidden_layers": 24,
        "hidden_size": 896,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "intermediate_size": 4864,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
    },
    "llama-3.2-1b": {
        "model_type": "llama",
        "num_hidden_layers": 16,
        "hidden_size": 2048,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "intermediate_size": 8192,
        "vocab_size": 128256,
        "tie_word_embeddings": True,
    },
    "llama-2-7b": {"model_type": "llama"},
    "mistral-7b": {"model_type": "mistral"},
    "llama-3-70b": {
        "model_type": "llama",
        "num_hidden_layers": 80,
        "hidden_size": 8192,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "intermediate_size": 28672,
        "vocab_size": 128256,
    },
}
"""What each model's `config.json` says beside its class's defaults."""
DTYPES = ("float32", "float16")


def main() -> None:
    """Print the sizes that accelerate finds, by model and dtype, in bytes."""
    from accelerate.commands import estimate

    estimate.verify_on_hub = lambda *_: SimpleNamespace(library_name="transformers", config={})
    out: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, config in MODELS.items():
            path = Path(folder, name)
            path.mkdir()
            (path / "config.json").write_text(json.dumps(config))
            asked = Namespace(
                model_name=str(path), library_name="transformers", trust_remote_code=False, dtypes=list(DTYPES)
            )
            with redirect_stdout(sys.stderr):
                rows = estimate.gather_data(asked)
            out[name] = {dtype: {"total": int(total), "training": usage} for dtype, _, total, usage in rows}
    versions = {name: importlib.metadata.version(name) for name in ("accelerate", "transformers", "torch")}
    json.dump({"versions": versions, "models": out}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
