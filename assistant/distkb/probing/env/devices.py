"""GPUs against ranks: what CUDA_VISIBLE_DEVICES leaves visible, and whether every rank has a device of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from distkb.probing.env.verdict import EnvVerdict, listed, quote
from distkb.probing.env.view import EnvProcess, View

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_LEADING = re.compile(r"[+-]?\d+")


class Visible(msgspec.Struct, frozen=True, kw_only=True):
    """What one value of CUDA_VISIBLE_DEVICES leaves visible on a machine with a known number of GPUs."""

    devices: tuple[str, ...]
    """In the order in which CUDA numbers them."""
    hidden: bool = False
    """Nothing is visible because the value is empty or begins with a negative number."""
    repeated: str | None = None
    """A device that is named twice: CUDA then shows none at all."""
    unknown: str | None = None
    """The first device that does not exist: it and all after it are hidden."""


def visible_devices(value: str | None, count: int, uuids: tuple[str, ...] = ()) -> Visible:
    """Read CUDA_VISIBLE_DEVICES as CUDA and torch.cuda do.

    Numbers are read like strtoul (`1gpu` is 1), a repeated device empties the list, the first that is negative,
    unknown or of another kind ends it. With `count` 0 (unknown), no device is called unknown.
    """
    if value is None:
        return Visible(devices=tuple(map(str, range(count))))
    prefix = next((p for p in ("GPU-", "MIG-") if value.startswith(p)), None)
    devices: list[str] = []
    for item in value.split(","):
        device = _device(item, prefix)
        if device is None or device.startswith("-"):
            return Visible(devices=tuple(devices), hidden=not devices)
        if device in devices:
            return Visible(devices=(), repeated=device)
        if count and not _exists(device, count, uuids, prefix):
            return Visible(devices=tuple(devices), unknown=device)
        devices.append(device)
    return Visible(devices=tuple(devices), hidden=not devices)


def _device(item: str, prefix: str | None) -> str | None:
    if prefix is not None:
        return item.strip() if item.startswith(prefix) else None
    match = _LEADING.match(item.strip())
    return None if match is None else str(int(match[0]))


def _exists(device: str, count: int, uuids: tuple[str, ...], prefix: str | None) -> bool:
    if prefix is None:
        return int(device) < count
    return prefix == "MIG-" or not uuids or any(uuid.startswith(device) for uuid in uuids)


def judge(view: View, verdict: EnvVerdict) -> None:
    """Judge the devices of each process, and of the ranks together."""
    source = view.part("gpu_source")
    if source.get("stuck"):
        verdict.find("env.nvidia-smi-stuck", [quote("nvidia-smi --query-gpu=…", "nvidia-smi")])
    gpus = view.rows("gpus")
    if source.get("source") == "kfd" or view.here is None:
        return
    if not gpus:
        _without_gpus(view, verdict)
        return
    uuids = tuple(str(gpu["uuid"]) for gpu in gpus if gpu.get("uuid"))
    shown = {process.path: visible_devices(process.get(_VISIBLE), len(gpus), uuids) for process in view.everyone}
    for process in view.everyone:
        _value(process, shown[process.path], len(gpus), verdict)
    if not any(gpu.get("mig") for gpu in gpus):
        _ranks(view, shown, verdict)
    _order(view.here, gpus, verdict)


def _without_gpus(view: View, verdict: EnvVerdict) -> None:
    torch = view.part("torch")
    for process in view.everyone:
        value = process.get(_VISIBLE)
        if value and torch.get("cuda") and not torch.get("devices") and visible_devices(value, 0).devices:
            verdict.find("env.visible-devices-no-gpu", process.quote(_VISIBLE), {"value": value})


def _on_cpu(process: EnvProcess) -> bool:
    return (process.get("ACCELERATE_USE_CPU") or "").lower() in ("1", "true", "yes", "on")


def _value(process: EnvProcess, shown: Visible, count: int, verdict: EnvVerdict) -> None:
    value = process.get(_VISIBLE)
    if value is None:
        return
    verdict.look("env.visible-devices-repeated", "env.visible-devices-unknown", "env.visible-devices-empty")
    values = {"value": value, "count": count, "last": count - 1}
    if shown.repeated is not None:
        verdict.find("env.visible-devices-repeated", process.quote(_VISIBLE), {**values, "device": shown.repeated})
    elif shown.unknown is not None:
        left = listed(shown.devices) or "-"
        verdict.find(
            "env.visible-devices-unknown", process.quote(_VISIBLE), {**values, "device": shown.unknown, "left": left}
        )
    elif shown.hidden and not _on_cpu(process):
        verdict.find("env.visible-devices-empty", process.quote(_VISIBLE), values)


def _ranks(view: View, shown: Mapping[str, Visible], verdict: EnvVerdict) -> None:
    here = view.here
    if here is None or _on_cpu(here):
        return
    verdict.look("env.fewer-gpus-than-ranks", "env.ranks-share-gpu")
    local = here.number("LOCAL_WORLD_SIZE")
    asked = view.requested.get("nproc")
    wanted = local if local is not None else asked if isinstance(asked, int) else None
    devices = shown[here.path].devices
    if len({shown[process.path].devices for process in view.everyone}) > 1:
        _separate(view, shown, verdict)
    elif wanted is not None and 0 < len(devices) < wanted:
        alone = not view.live and len(devices) == 1 and here.launched and not here.elastic
        identity = "env.one-gpu-per-rank" if alone else "env.fewer-gpus-than-ranks"
        quotes = here.quote("LOCAL_WORLD_SIZE", _VISIBLE) or [quote(f"{len(devices)} GPU", "gpus")]
        verdict.find(identity, quotes, {"ranks": wanted, "visible": len(devices), "devices": listed(devices)})


def _separate(view: View, shown: Mapping[str, Visible], verdict: EnvVerdict) -> None:
    """Ranks with lists of their own: `cuda:LOCAL_RANK` needs as many devices, and no two may end on the same."""
    used: dict[str, list[EnvProcess]] = {}
    for process in view.ranks:
        devices, local = shown[process.path].devices, process.number("LOCAL_RANK") or 0
        if devices:
            used.setdefault(devices[local] if local < len(devices) else devices[0], []).append(process)
    for device, processes in sorted(used.items()):
        if len(processes) > 1:
            quotes = [found for process in processes for found in process.quote(_VISIBLE)]
            ranks = listed(sorted(process.rank or 0 for process in processes))
            verdict.find("env.ranks-share-gpu", quotes, {"device": device, "ranks": ranks})
    single = [p for p in view.ranks if len(shown[p.path].devices) == 1 and (p.number("LOCAL_RANK") or 0) > 0]
    if single and len(used) == len(view.ranks):
        quotes = [found for process in single for found in process.quote(_VISIBLE)]
        verdict.find("env.one-gpu-per-rank", quotes, {"ranks": len(view.ranks), "visible": 1, "devices": "1"})


def _order(here: EnvProcess, gpus: list[dict[str, Any]], verdict: EnvVerdict) -> None:
    """With unlike GPUs, CUDA numbers the fastest first and nvidia-smi by bus, unless CUDA_DEVICE_ORDER says so."""
    names = list(dict.fromkeys(str(gpu.get("name")) for gpu in gpus))
    if len(names) > 1 and here.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" and (here.get(_VISIBLE) or "")[:1].isdigit():
        verdict.find(
            "env.gpu-order", [quote(listed(names), "nvidia-smi"), *here.quote(_VISIBLE)], {"names": listed(names)}
        )
