"""Which causes take something that the code of a run does not have, so that it can hardly fail in their way."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from distkb.evidence.text.opening import UnreadableError, open_regular

if TYPE_CHECKING:
    from distkb.catalogue.model import Entry
    from distkb.evidence.readers.scripts.project import Project
    from distkb.evidence.readers.scripts.source import Script

BYTES = 1 << 18
"""Of a file beside the scripts: a configuration, a line that starts the job."""
BEGINS = ("init_process_group", "dataparallel", "accelerat", "trainer", "deepspeed", "lightning", "fabric",
          "fully_shard", "device_mesh", "spawn")  # fmt: skip
"""Words of code that starts or wraps what trains: without it the code is a part of a program only."""
PUBLIC = frozenset({
    "torch", "torchvision", "torchaudio", "torchtext", "torchdata", "torchmetrics", "numpy", "pandas", "scipy",
    "sklearn", "matplotlib", "seaborn", "PIL", "cv2", "tqdm", "rich", "yaml", "omegaconf", "hydra", "absl", "fire",
    "click", "typer", "simple_parsing", "einops", "safetensors", "tokenizers", "sentencepiece", "evaluate", "nltk",
    "regex", "requests", "psutil", "pynvml", "packaging", "filelock", "fsspec", "pyarrow", "h5py", "zarr",
    "webdataset", "streaming", "soundfile", "librosa", "albumentations", "timm", "gym", "gymnasium", "wandb",
    "mlflow", "tensorboard", "tensorboardX", "comet_ml", "neptune", "clearml", "swanlab", "accelerate",
    "transformers", "datasets", "diffusers", "peft", "trl", "bitsandbytes", "deepspeed", "lightning",
    "pytorch_lightning", "lightning_fabric", "fairscale", "flash_attn", "xformers", "apex", "huggingface_hub",
    "msgpack", "orjson", "toml", "tomli", "dotenv", "pydantic", "attr", "attrs", "jsonlines", "ujson",
    "setproctitle", "mpi4py", "submitit", "ray", "optuna", "numba", "triton",
})  # fmt: skip
"""Libraries in which no code of the run's own hides."""


def lacking(entries: Iterable[Entry], project: Project, settings: Iterable[Path]) -> tuple[str, ...] | None:
    """Return the ids of causes whose words nothing of the code has; None where not all code of the run was given.

    `settings`: configurations and launch files that were given, which are read as plain text.
    """
    if not all(_is_there(name, script, project) for script in project.scripts for name in _imported(script)):
        return None
    scripts = {script.path for script in project.scripts}
    parts = ["\n".join(script.lines) for script in project.scripts]
    text = "\n".join([*parts, *(_text(path) for path in settings if path not in scripts)]).lower()
    if not any(word in text for word in BEGINS):
        return None
    found: list[str] = []
    for entry in entries:
        without = bool(entry.takes) and not any(word in text for word in entry.takes)
        found += [
            cause.id
            for cause in entry.causes
            if without or (cause.takes and not any(word in text for word in cause.takes))
        ]
    return tuple(found)


def _imported(script: Script) -> Iterable[str]:
    return (*script.imports.values(), *script.stars)


def _is_there(name: str, script: Script, project: Project) -> bool:
    """Whether a module, or what is taken from it, is public or among the scripts."""
    first = name.partition(".")[0]
    if first in PUBLIC or first in sys.stdlib_module_names:
        return True
    return any(project.module_named(one, script) is not None for one in (name, name.rpartition(".")[0]) if one)


def _text(path: Path) -> str:
    try:
        with open_regular(path) as raw:
            return raw.read(BYTES).decode("utf-8", "replace")
    except (UnreadableError, OSError, ValueError):
        return ""
