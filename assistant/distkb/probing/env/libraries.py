"""torch itself: whether it is there, imports, and fits the GPUs of the machine."""

from __future__ import annotations

from distkb.probing.env.devices import visible_devices
from distkb.probing.env.verdict import EnvVerdict, listed, quote
from distkb.probing.env.view import View, number

SLOW_S = 15.0
"""Seconds that importing torch may take before ranks that import it at the same time run into a start-up timeout."""


def judge(view: View, verdict: EnvVerdict) -> None:
    """Judge the torch of the interpreter that ran the probe, or the one that a live launch has loaded."""
    torch = view.part("torch")
    state = torch.get("state")
    python = view.part("versions").get("python") or "?"
    if state in ("ok", "live") and torch.get("version"):
        _gpus(view, verdict)
    if state in (None, "live"):
        return
    verdict.look("env.torch-missing", "env.torch-broken", "env.torch-slow")
    if state == "missing":
        verdict.find("env.torch-missing", [quote(f"python {python}: no torch", "versions")], {"python": python})
    elif state == "broken":
        error = str(torch.get("error") or "?")
        verdict.find("env.torch-broken", [quote(error, "import torch")], {"error": error})
    elif state == "slow" or number(torch.get("seconds")) > SLOW_S:
        seconds = f"{number(torch.get('seconds')):.0f}"
        verdict.find("env.torch-slow", [quote(f"import torch: {seconds} s", "import torch")], {"seconds": seconds})


def _gpus(view: View, verdict: EnvVerdict) -> None:
    torch = view.part("torch")
    gpus = view.rows("gpus")
    if not gpus or view.part("gpu_source").get("source") == "kfd":
        return
    verdict.look("env.torch-cpu-build", "env.cuda-unavailable")
    names = listed(dict.fromkeys(str(gpu.get("name")) for gpu in gpus))
    version = str(torch.get("version") or "?")
    if not torch.get("cuda"):
        if not torch.get("hip"):
            quotes = [quote(f"torch {version}", "versions"), quote(names, "nvidia-smi")]
            verdict.find("env.torch-cpu-build", quotes, {"version": version, "gpus": len(gpus)})
        return
    # torch was asked in the environment of the probe, not in that of a live rank.
    own = None if view.live or view.here is None else view.here.get("CUDA_VISIBLE_DEVICES")
    if torch.get("available") is False and (view.live or visible_devices(own, len(gpus)).devices):
        driver = str(gpus[0].get("driver") or "?")
        values = {"version": version, "cuda": torch.get("cuda"), "driver": driver, "gpus": len(gpus)}
        verdict.find("env.cuda-unavailable", [quote(f"torch {version}, driver {driver}", "versions")], values)
