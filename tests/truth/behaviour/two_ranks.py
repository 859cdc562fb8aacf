"""What two ranks on gloo do; each function returns what it saw, rank 0 prints all of it as JSON."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from shown import see, tell
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

try:
    from torch.distributed.fsdp import fully_shard
except ImportError:  # before torch 2.6
    from torch.distributed._composable.fsdp import fully_shard  # type: ignore[attr-defined,no-redef,assignment,unused-ignore]

SHORT = timedelta(seconds=2)


def monitored_barrier_outlives_its_group() -> bool:
    """Rank 1 comes to the barrier only when a collective of a group with the same limit has timed out on rank 0."""
    waits, runs_out = (dist.new_group(timeout=SHORT) for _ in range(2))
    store = dist.distributed_c10d._get_default_store()
    if dist.get_rank():
        store.wait(["ran-out"], timedelta(seconds=120))
        dist.monitored_barrier(waits)
        return True
    passed: list[bool] = []

    def barrier() -> None:
        dist.monitored_barrier(waits)
        passed.append(True)

    thread = threading.Thread(target=barrier)
    thread.start()
    try:
        dist.all_reduce(torch.ones(1), group=runs_out)
    except RuntimeError as error:
        store.set("ran-out", str(error)[:200])
    thread.join()
    return passed == [True]


def gloo_message_names_the_limit() -> str:
    """The error of the collective above, as rank 0 left it in the store."""
    return str(dist.distributed_c10d._get_default_store().get("ran-out").decode())


def new_group_takes_the_backend_default() -> list[float]:
    """The time limits of the default group, of a group made later, and of a store made without one."""
    default, later = dist.distributed_c10d._get_default_group(), dist.new_group()
    store: Any = vars(dist)["TCPStore"]("127.0.0.1", 0, None, True)
    limits = [group._get_backend(torch.device("cpu")).options._timeout for group in (default, later)]
    return [limit.total_seconds() for limit in (*limits, store.timeout)]


def gradients_are_averaged() -> list[float]:
    """The gradient of a weight whose loss is rank + 1 times it: 1 and 2 give their mean, not their sum."""
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    model(torch.full((1, 1), float(dist.get_rank() + 1))).sum().backward()
    return [float(parameter.grad) for parameter in model.parameters() if parameter.grad is not None]


def buffers_are_those_of_rank_0() -> float:
    """A buffer that is 10 on rank 0 and 20 on rank 1 is 10 on rank 1 after a forward of both."""
    return _buffer_after_forward(sent=True)


def buffers_that_are_not_sent() -> float:
    """With broadcast_buffers=False it stays 20."""
    return _buffer_after_forward(sent=False)


def _buffer_after_forward(*, sent: bool) -> float:
    plain: Any = nn.BatchNorm1d(2)
    model = DistributedDataParallel(plain, broadcast_buffers=sent)
    plain.running_mean.fill_(10.0 * (dist.get_rank() + 1))
    with torch.no_grad():
        plain.eval()
        model(torch.zeros(2, 2))
    seen = [torch.zeros(2) for _ in range(2)]
    dist.all_gather(seen, plain.running_mean)
    return float(seen[1][0])


def no_sync_keeps_gradients_apart() -> list[float]:
    """Under no_sync each rank has its own gradient."""
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    with model.no_sync():
        model(torch.full((1, 1), float(dist.get_rank() + 1))).sum().backward()
    own = torch.cat([parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None])
    seen = [torch.zeros_like(own) for _ in range(2)]
    dist.all_gather(seen, own)
    return [float(one) for one in seen]


class HalfUsed(nn.Module):
    """A module of which one half takes no part in the forward."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(1, 1), nn.Linear(1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Use one of them."""
        return self.used(x)  # type: ignore[no-any-return]


def unused_parameters_end_the_next_step() -> str:
    """The error of the second forward where a parameter got no gradient in the first."""
    model = DistributedDataParallel(HalfUsed())
    model(torch.ones(1, 1)).sum().backward()
    try:
        model(torch.ones(1, 1))
    except RuntimeError as error:
        return str(error)[:80]
    return ""


def sharded_state_dict_is_of_this_rank() -> list[object]:
    """What `model.state_dict()` holds under fully_shard: its type, and how many of its 4 rows are here."""
    model = nn.Linear(4, 4)
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    held = model.state_dict()["weight"]
    return [type(held).__name__, held.to_local().shape[0]]


def a_rank_outside_of_a_group_goes_on() -> str:
    """What rank 1 is told when it calls a collective of a group that has rank 0 only; nothing is raised."""
    group = dist.new_group([0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dist.all_reduce(torch.ones(1), group=group)
    said = [str(one.message) for one in caught]
    every: list[list[str]] = [[], []]
    dist.all_gather_object(every, said)
    return every[1][0] if every[1] else ""


SHOWN: tuple[Callable[[], object], ...] = (
    monitored_barrier_outlives_its_group,
    gloo_message_names_the_limit,
    new_group_takes_the_backend_default,
    gradients_are_averaged,
    buffers_are_those_of_rank_0,
    buffers_that_are_not_sent,
    no_sync_keeps_gradients_apart,
    unused_parameters_end_the_next_step,
    sharded_state_dict_is_of_this_rank,
    a_rank_outside_of_a_group_goes_on,
)

if __name__ == "__main__":
    dist.init_process_group("gloo", timeout=timedelta(seconds=90))
    seen = see(SHOWN)
    if dist.get_rank() == 0:
        tell(seen)
    dist.monitored_barrier()
    dist.destroy_process_group()
