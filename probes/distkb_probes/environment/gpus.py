"""Which GPUs this machine has, without initialising CUDA."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from distkb_probes._lifeline import die_with_parent

_ASK_S = 8.0
_FIELDS = ("index", "name", "uuid", "memory.total", "driver_version", "mig.mode.current")
_NVIDIA = Path("/proc/driver/nvidia/gpus")


class GpusAsked:
    """Asks nvidia-smi while other things are looked at; falls back to what the driver shows in /proc."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        command = shutil.which("nvidia-smi")
        if command is not None:
            with contextlib.suppress(OSError):
                self._process = subprocess.Popen(  # noqa: S603 - asks the driver
                    [command, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    preexec_fn=die_with_parent,  # noqa: PLW1509 - no thread has been started yet
                )

    def answer(self) -> dict[str, Any]:
        """Return `gpus` (one record each, empty where there is none) and `source`; `stuck` if nvidia-smi hangs."""
        if self._process is not None:
            try:
                printed, _ = self._process.communicate(timeout=_ASK_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                return {"gpus": _from_proc(), "source": "proc", "stuck": True}
            if self._process.returncode == 0:
                return {"gpus": parse_query(printed.decode("utf-8", "replace")), "source": "nvidia-smi", "stuck": False}
        found = _from_proc()
        if not found and Path("/dev/kfd").exists():
            return {"gpus": _from_kfd(), "source": "kfd", "stuck": False}
        return {"gpus": found, "source": "proc" if found else None, "stuck": False}


def parse_query(text: str) -> list[dict[str, Any]]:
    """Parse the rows of `nvidia-smi --query-gpu`; rows that are none are left out."""
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) == len(_FIELDS) and values[0].isdigit():
            index, name, uuid, memory, driver, mig = values
            found.append(
                {
                    "index": int(index),
                    "name": name,
                    "uuid": uuid,
                    "memory_mib": int(memory) if memory.isdigit() else None,
                    "driver": driver,
                    "mig": mig == "Enabled",
                }
            )
    return found


def _from_proc() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with contextlib.suppress(OSError):
        for index, directory in enumerate(sorted(_NVIDIA.iterdir())):
            record: dict[str, Any] = {"index": index, "name": "NVIDIA GPU", "uuid": None, "mig": False}
            with contextlib.suppress(OSError):
                for line in (directory / "information").read_text(encoding="utf-8", errors="replace").splitlines():
                    label, _, value = line.partition(":")
                    if label == "Model":
                        record["name"] = value.strip()
                    elif label == "GPU UUID":
                        record["uuid"] = value.strip()
            found.append(record)
    return found


def _from_kfd() -> list[dict[str, Any]]:
    nodes = Path("/sys/class/kfd/kfd/topology/nodes")
    found: list[dict[str, Any]] = []
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(nodes)):  # noqa: PTH208 - names only
            with contextlib.suppress(OSError):
                if (nodes / name / "gpu_id").read_text(encoding="ascii").strip() not in ("", "0"):
                    found.append({"index": len(found), "name": "AMD GPU", "uuid": None, "mig": False})
    return found
