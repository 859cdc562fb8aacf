"""A pretended world of N ranks in one process, in which models are built without memory and without GPUs."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distkb_probes.sharding.nowhere import known_value

PORT = "29500"


def hide_gpus() -> None:
    """Keep torch away from the GPUs: a job may be running on them. Call this before torch is imported."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # A barrier at start-up would wait for ranks that do not exist.
    os.environ.pop("TORCH_DIST_INIT_BARRIER", None)


def environment(world_size: int, per_node: int) -> dict[str, str]:
    """Return what torchrun gives to rank 0."""
    local = min(per_node, world_size)
    return {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "GROUP_RANK": "0",
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(local),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": PORT,
    }


@contextmanager
def world(world_size: int, per_node: int) -> Iterator[None]:
    """Be rank 0 of `world_size` ranks whose collectives do nothing.

    The fake backend is registered by importing torch.testing._internal.distributed.fake_pg (in torch since 2.1; the
    same names in 2.4, 2.13 and 2.15).
    """
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    os.environ.update(environment(world_size, per_node))
    # Untyped in torch 2.4.
    store: Any = FakeStore()
    dist.init_process_group("fake", rank=0, world_size=world_size, store=store)
    try:
        yield
    finally:
        dist.destroy_process_group()


@contextmanager
def stand_ins(per_node: int) -> Iterator[None]:
    """Let a training script's set-up calls succeed here: process groups that exist already, GPUs that are not here.

    - `init_process_group` and `destroy_process_group` do nothing, groups are made with the fake backend;
    - device meshes are built on the CPU, also from a `torch.arange` that was put on meta;
    - `torch.cuda.set_device`, `current_device` and `device_count` answer for a node of `per_node` GPUs;
    - DistributedDataParallel holds the model and does nothing else;
    - FSDP1 takes a model without memory for one on the CPU: it neither moves nor materializes it.
    """
    import torch
    import torch.distributed as dist
    from torch.distributed import distributed_c10d as c10d

    undo: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        if hasattr(owner, name):
            undo.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)

    for module in (dist, c10d):
        put(module, "init_process_group", _nothing())
        put(module, "destroy_process_group", _nothing())
        put(module, "new_group", _with_fake_backend(c10d.new_group))
    put(torch.cuda, "set_device", _nothing())
    put(torch.cuda, "current_device", lambda: 0)
    put(torch, "set_default_device", _nothing())
    # FSDP1, told that its device is the CPU, asks how many of those a node has to build its hybrid groups.
    for devices in (torch.cuda, torch.cpu):
        put(devices, "device_count", lambda: per_node)
    put(torch.nn.parallel.DistributedDataParallel, "__init__", _hold)
    _fsdp1(put)
    _meshes(put)
    try:
        yield
    finally:
        for owner, name, value in reversed(undo):
            setattr(owner, name, value)


def _nothing() -> Callable[..., None]:
    """Return a function that does nothing; a new one each time, because dynamo tells functions apart by identity."""

    def nothing(*_args: object, **_kwargs: object) -> None:
        return None

    return nothing


def _hold(self: Any, module: Any, *_args: object, **_kwargs: object) -> None:
    import torch

    torch.nn.Module.__init__(self)
    self.module = module


def _with_fake_backend(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def new_group(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("backend", None)
        kwargs.pop("pg_options", None)
        kwargs.pop("device_id", None)
        return make(*args[:2], backend="fake", **kwargs)

    return new_group


def _meshes(put: Callable[[Any, str, Any], None]) -> None:
    """Have device meshes made of real ranks: they are read, and cost nothing."""
    import torch
    from torch.distributed.device_mesh import DeviceMesh

    plain = DeviceMesh.__init__

    @functools.wraps(plain)
    def init(self: Any, device_type: str, mesh: Any = None, *args: Any, **kwargs: Any) -> None:
        with torch.device("cpu"):
            plain(self, device_type, known_value(mesh), *args, **kwargs)

    put(DeviceMesh, "__init__", init)


def _fsdp1(put: Callable[[Any, str, Any], None]) -> None:
    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel, _init_utils

    cpu = torch.device("cpu")
    put(_init_utils, "_get_compute_device", lambda *_args, **_kwargs: cpu)
    put(_init_utils, "_check_single_device_module", _nothing())
    put(_init_utils, "_materialize_meta_module", _nothing())
    put(_init_utils, "_materialize_with_param_init_fn", _nothing())
    put(_init_utils, "_sync_module_params_and_buffers", _nothing())
    plain = FullyShardedDataParallel.__init__

    @functools.wraps(plain)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        # `device_id` is the tenth parameter; hardly anyone passes it by position.
        kwargs["device_id"] = cpu
        plain(self, *args[:9], **kwargs)

    put(FullyShardedDataParallel, "__init__", init)
