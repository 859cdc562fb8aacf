"""Which versions are installed, without importing them, and what torch says of itself in a process of its own."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distkb_probes._lifeline import die_with_parent
from distkb_probes.environment.variables import mask_text

TORCH_S = 25.0
"""Seconds that importing torch may take before it is called slow."""
_PACKAGES = {
    "torch": ("torch",),
    "nccl": ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11"),
    "cuda": ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu13", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-cu11"),
    "accelerate": ("accelerate",),
    "deepspeed": ("deepspeed",),
    "transformers": ("transformers",),
    "lightning": ("lightning", "pytorch-lightning"),
    "mpi4py": ("mpi4py",),
}
_ASK = """
import json, os, sys
out = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
import torch
answer = {"version": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip, "path": torch.__file__,
          "distributed": torch.distributed.is_available(), "nccl": None, "available": None, "devices": None}
try:
    answer["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
except Exception: pass
try:
    answer["devices"] = torch.cuda.device_count()
    answer["available"] = torch.cuda.is_available()
except Exception as problem: answer["problem"] = str(problem)
json.dump(answer, out); out.flush(); os._exit(0)
"""
_NUMBER = re.compile(r"\d+(?:\.\d+)*")


def installed(path: list[str] | None = None) -> dict[str, str]:
    """Return package → version of what importlib.metadata finds; what is not installed is absent.

    `path` looks into other directories than those of this interpreter.
    """
    found = {"python": platform.python_version()} if path is None else {}
    for name, distributions in _PACKAGES.items():
        versions = (_version(distribution, sys.path if path is None else path) for distribution in distributions)
        version = next((version for version in versions if version is not None), None)
        if version is not None:
            found[name] = version
    return found


def _version(distribution: str, path: list[str]) -> str | None:
    found = importlib.metadata.distributions(name=distribution, path=path)
    return next((one.version for one in found if one.version), None)


def of_process(process: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what a running process says of torch, and the versions beside the torch that it has loaded.

    Nothing is started for this: a live run keeps its GPUs to itself. Where no torch is loaded yet, the versions are
    those of this interpreter.
    """
    package = process.get("torch_path")
    if not package:
        return {"state": "live"}, installed()
    place = Path(package).parent
    python = re.search(r"python(\d+\.\d+)", str(place))
    found = {**({"python": python[1]} if python else {}), **installed([str(place)])}
    torch = {"state": "live", "version": process.get("torch"), "cuda": process.get("cuda"), "path": package}
    return torch, joined(found, {**torch, "state": "ok"})


class TorchAsked:
    """Asks torch, in a process of its own, while other things are looked at."""

    def __init__(self, limit_s: float = TORCH_S) -> None:
        self._limit_s = limit_s
        self._began = time.monotonic()
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-c", _ASK],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - no thread has been started yet
        )

    def answer(self) -> dict[str, Any]:
        """Wait for it: `state` is `ok`, `broken` (with `error`, the last line) or `slow`."""
        left = self._limit_s - (time.monotonic() - self._began)
        try:
            printed, errors = self._process.communicate(timeout=max(0.1, left))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return {"state": "slow", "seconds": round(self._limit_s, 1)}
        seconds = round(time.monotonic() - self._began, 2)
        try:
            return {"state": "ok", "seconds": seconds, **json.loads(printed)}
        except ValueError:
            lines = errors.decode("utf-8", "replace").strip().splitlines()
            return {"state": "broken", "seconds": seconds, "error": mask_text(lines[-1] if lines else "")}


def joined(installed_now: dict[str, str], torch: dict[str, Any]) -> dict[str, str]:
    """Return the versions with what torch itself says preferred: its build's CUDA, and the NCCL it runs with."""
    found = dict(installed_now)
    if torch.get("state") == "ok":
        for name, key in (("torch", "version"), ("cuda", "cuda"), ("nccl", "nccl")):
            if torch.get(key) and _NUMBER.match(str(torch[key])):
                found[name] = str(torch[key])
        if not torch.get("cuda"):
            found.pop("cuda", None)
    return found
