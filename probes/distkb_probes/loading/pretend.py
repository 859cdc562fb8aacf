"""Makes this process look like one rank of a job to code that only builds a data loader."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

PORT = "29500"


def pretend(rank: int, world_size: int) -> None:
    """Be `rank` for the rest of this process: environment and torch.distributed answer for it.

    Nothing connects anywhere: `init_process_group` and `barrier` return at once, so that code which downloads on rank
    0 and lets the others wait goes through. Other collectives stay as they are and raise, because there is no group.
    """
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(world_size),
        LOCAL_WORLD_SIZE=str(world_size),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=PORT,
    )
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "get_rank": lambda *_args, **_named: rank,
        "get_world_size": lambda *_args, **_named: world_size,
        "get_backend": lambda *_args, **_named: "gloo",
        "init_process_group": lambda *_args, **_named: None,
        "destroy_process_group": lambda *_args, **_named: None,
        "barrier": lambda *_args, **_named: None,
    }
    holders: list[Any] = [dist]
    if dist.is_available():
        from torch.distributed import distributed_c10d

        holders.append(distributed_c10d)
    for holder in holders:
        for name, answer in answers.items():
            setattr(holder, name, answer)
    torch.cuda.set_device = lambda *_args: None
