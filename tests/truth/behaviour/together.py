"""What two ranks on gloo do with groups and DDP; each function returns what it saw, rank 0 prints all of it."""

from __future__ import annotations

import inspect
import os
import random
import socket
import sys
import time
import warnings
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from shown import error_of, see, tell
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

LONG = timedelta(seconds=90)


def everywhere(value: object) -> list[Any]:
    """The values of both ranks."""
    seen: list[Any] = [None, None]
    dist.all_gather_object(seen, value)
    return seen


def line(**options: Any) -> Any:
    """A DDP model with one weight."""
    return DistributedDataParallel(nn.Linear(1, 1, bias=False), **options)


def mine(scale: float = 1.0) -> torch.Tensor:
    """An input that is 1 on rank 0 and 2 on rank 1."""
    return torch.full((1, 1), scale * (dist.get_rank() + 1))


def gradients(model: nn.Module) -> list[float]:
    """The gradient of the first weight on both ranks."""
    first = next(model.parameters()).grad
    return everywhere(None if first is None else first.item())


def variables_of_torchrun() -> list[bool]:
    """Whether torchrun set each of the variables, and whether the script got an argument."""
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    return [all(name in os.environ for name in names), len(sys.argv) > 1]


def threads_of_torchrun() -> str | None:
    """The number of math threads that torchrun asked for."""
    return os.environ.get("OMP_NUM_THREADS")


def store_of_the_agent() -> str | None:
    """Whether torchrun's agent hosts the store."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE")


def group_a_second_time() -> str:
    """The error of a second init_process_group."""
    return error_of(lambda: dist.init_process_group("gloo"))


def store_on_a_taken_port() -> str:
    """The error of a second store that listens on the port of the first."""
    first: Any = vars(dist)["TCPStore"]("127.0.0.1", 0, None, True)
    return error_of(lambda: vars(dist)["TCPStore"]("127.0.0.1", first.port, None, True))


def port_that_nobody_listens_on() -> bool:
    """Whether a store can listen at once where one listened that is gone, with a client that had connected."""
    first: Any = vars(dist)["TCPStore"]("127.0.0.1", 0, None, True)
    port = first.port
    client = socket.create_connection(("127.0.0.1", port))
    del first
    client.close()
    return not error_of(lambda: vars(dist)["TCPStore"]("127.0.0.1", port, None, True))


def port_beyond_the_last() -> bool:
    """Whether a store refuses a port above 65535."""
    return bool(error_of(lambda: vars(dist)["TCPStore"]("127.0.0.1", 70000, None, True)))


def get_that_runs_out() -> str:
    """The error of a get from a store that waits a second."""
    store: Any = vars(dist)["TCPStore"]("127.0.0.1", 0, None, True, timedelta(seconds=1))
    return error_of(lambda: store.get("never"))


def barrier_that_names_who_is_missing() -> str:
    """The error of rank 0 in a monitored barrier to which rank 1 comes too late."""
    group, store = dist.new_group(), dist.distributed_c10d._get_default_store()
    if dist.get_rank() == 0:
        store.set("missed", error_of(lambda: dist.monitored_barrier(group, timedelta(seconds=1))))
    return str(store.get("missed").decode())


def outside_of_a_group() -> list[Any]:
    """What rank 1 gets for its rank in, and the size of, a group of rank 0 alone."""
    group = dist.new_group([0])
    return everywhere([dist.get_rank(group), dist.get_world_size(group)])[1]  # type: ignore[no-any-return]


def value_outside_of_a_group() -> list[float]:
    """What rank 1 holds after an all-reduce of a group of rank 0 alone."""
    group, value = dist.new_group([0]), torch.full((1,), 7.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dist.all_reduce(value, group=group)
    return everywhere(value.item())[1:]


def ddp_outside_of_its_group() -> str:
    """The error of DDP on rank 1, which the group does not hold."""
    group = dist.new_group([0])
    said = error_of(lambda: line(process_group=group)) if dist.get_rank() else ""
    return str(everywhere(said)[1])


def source_is_a_global_rank() -> str:
    """The error of rank 1 that takes the first member of its own group to be rank 0."""
    group = dist.new_group([1])
    said = error_of(lambda: dist.broadcast(torch.ones(1), 0, group=group)) if dist.get_rank() else ""
    return str(everywhere(said)[1])


def source_in_the_group() -> str:
    """The error of rank 1 that names the first member of its own group by its place in it."""
    group = dist.new_group([1])
    call: Any = dist.broadcast
    said = error_of(lambda: call(torch.ones(1), group=group, group_src=0)) if dist.get_rank() else ""
    return str(everywhere(said)[1])


def gathering_different_sizes() -> list[bool]:
    """Whether gloo refuses gather, and all_gather, with a list of the true sizes."""
    own, sizes = torch.zeros(dist.get_rank() + 1), [torch.zeros(1), torch.zeros(2)]
    groups = [dist.new_group() for _ in range(2)]
    gather = dist.get_rank() == 0 and bool(error_of(lambda: dist.gather(own, sizes, group=groups[0])))
    every = bool(error_of(lambda: dist.all_gather([one.clone() for one in sizes], own, group=groups[1])))
    return [gather, every]


def orders_that_differ() -> list[float]:
    """What rank 0 holds in `a` and `b` when rank 1 reduces them in the other order; the sums would be 2 and 20."""
    values = {"a": torch.ones(1), "b": torch.full((1,), 10.0)}
    group = dist.new_group()
    for name in ("ab", "ba")[dist.get_rank()]:
        dist.all_reduce(values[name], group=group)
    return [values["a"].item(), values["b"].item()]


def meshes_of_other_sizes() -> list[object]:
    """The error of a mesh for four ranks, and the place of rank 1 in one for one rank."""
    too_many = error_of(lambda: init_device_mesh("cpu", (4,)))
    mesh = init_device_mesh("cpu", (1,))
    return [too_many.partition(":")[2][:60].strip(), everywhere(mesh.get_coordinate())[1]]


def questions_to_a_mesh() -> list[bool]:
    """Whether a mesh of two dimensions refuses get_group() without one, and a name that it does not have."""
    mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
    return [bool(error_of(mesh.get_group)), bool(error_of(lambda: mesh["pp"]))]


def past_the_wrapper() -> list[float]:
    """The gradients of both ranks after a forward through `model.module`."""
    model = line()
    model.module(mine()).sum().backward()
    return gradients(model)


def second_backward() -> list[float]:
    """The gradients of both ranks after two backwards of one forward, of which 1 and 2 each would be 1.5 + 1.5."""
    model = line()
    out = model(mine())
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    return gradients(model)


def parameter_beside_the_model() -> list[float]:
    """The gradients of both ranks of a parameter that is used in the loss and not wrapped."""
    model, scale = line(), nn.Parameter(torch.ones(()))
    (model(mine()) * 0 + scale * mine()).sum().backward()
    return everywhere(scale.grad.item() if scale.grad is not None else None)


def weights_after_wrapping() -> bool:
    """Whether models that were made from different seeds are equal once DDP holds them."""
    torch.manual_seed(dist.get_rank())
    first, second = everywhere(line().module.weight.item())
    return bool(first == second)


def weights_without_sending() -> bool:
    """Whether they are equal with init_sync=False."""
    torch.manual_seed(dist.get_rank())
    first, second = everywhere(line(init_sync=False).module.weight.item())
    return bool(first == second)


def changed_on_one_rank() -> float:
    """How far apart a weight is that rank 1 alone changed by 1, after a step of both."""
    model = line()
    if dist.get_rank():
        model.module.weight.data += 1
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(mine()).sum().backward()
    optimizer.step()
    first, second = everywhere(model.module.weight.item())
    return round(float(second - first), 4)


def models_that_differ() -> str:
    """The error of DDP where rank 1 has a layer more."""
    layers = [nn.Linear(1, 1) for _ in range(1 + dist.get_rank())]
    return error_of(lambda: DistributedDataParallel(nn.Sequential(*layers), process_group=dist.new_group()))


def prefix_of_ddp() -> str:
    """The name of the first weight in the state dict."""
    return str(next(iter(line().state_dict())))


def attribute_of_the_model() -> list[str]:
    """What is wrong with an attribute of the model that is asked of DDP, and where one goes that is written."""
    model = line()
    said = error_of(lambda: model.in_features)
    model.out_features = 9
    return [said[:60], str(model.module.out_features)]


def size_of_a_bucket() -> int:
    """DDP's bucket in MiB where none is given."""
    return int(line().bucket_bytes_cap) >> 20


def inputs_that_do_not_match() -> list[object]:
    """Steps of both ranks under Join, and whether the weights agree afterwards."""
    model, steps = line(), 0
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with model.join():
        for _ in range(2 + dist.get_rank()):
            optimizer.zero_grad()
            model(mine()).sum().backward()
            optimizer.step()
            steps += 1
    weights = everywhere(model.module.weight.item())
    return [everywhere(steps), weights[0] == weights[1]]


def inputs_that_end_early() -> str:
    """The error on rank 1, which has a batch more, under throw_on_early_termination."""
    model = line(process_group=dist.new_group())

    def train() -> None:
        with model.join(throw_on_early_termination=True):
            for _ in range(2 + dist.get_rank()):
                model(mine()).sum().backward()

    return str(everywhere(error_of(train))[1])


class Counted(nn.Module):
    """A weight and a buffer that the forward needs for its gradient."""

    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply by both."""
        return x * self.weight * self.scale


def statistics_of_both_ranks() -> list[bool]:
    """Whether the running means agree after a forward of each rank's data, and after the next forward begins."""
    norm = nn.BatchNorm1d(1)
    model: Any = DistributedDataParallel(norm)
    mean: Any = norm.running_mean
    seen = []
    for evaluated in (False, True):
        model.train(not evaluated)
        model(torch.tensor([[0.0], [1.0]]) + dist.get_rank())
        first, second = everywhere(mean.item())
        seen.append(first == second)
    return seen


def two_forwards_before_a_backward() -> str:
    """The error of a backward behind two forwards of a model with a buffer."""
    model = DistributedDataParallel(Counted())
    out = model(torch.ones(1)) + model(torch.ones(1))
    return error_of(lambda: out.sum().backward())


def weight_in_the_loss_only() -> str:
    """The error of a weight that the loss uses past the forward, while unused ones are looked for."""
    wrapped: Any = DistributedDataParallel(Penalty(), find_unused_parameters=True, process_group=dist.new_group())
    return error_of(lambda: (wrapped(mine()) + wrapped.module.other.weight).sum().backward())


class Penalty(nn.Module):
    """Two layers of which the forward uses one."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.other = nn.Linear(1, 1), nn.Linear(1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Use the first."""
        return self.used(x)  # type: ignore[no-any-return]


def gathers_with_a_gradient() -> list[bool]:
    """Whether what was gathered requires a gradient: of all_gather, and of its functional form."""
    from torch.distributed.nn.functional import all_gather

    own = torch.ones(1, requires_grad=True)
    plain = [torch.zeros(1), torch.zeros(1)]
    dist.all_gather(plain, own.detach())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept: Any = all_gather(own)  # type: ignore[no-untyped-call]
    return [plain[0].requires_grad, kept[0].requires_grad]


def optimizer_state_of_one_rank() -> str:
    """The error of a ZeroRedundancyOptimizer that is saved without gathering first."""
    optimizer: Any = ZeroRedundancyOptimizer(line().parameters(), torch.optim.Adam, lr=0.1)
    return error_of(optimizer.state_dict)


def synchronized_norm_on_the_cpu() -> list[str]:
    """The errors of SyncBatchNorm with tensors of the CPU, in training and in eval mode."""
    norm = nn.SyncBatchNorm(1)
    training = error_of(lambda: norm.train()(torch.ones(2, 1, 2)))
    return [training[:60], error_of(lambda: norm.eval()(torch.ones(2, 1, 2)))]


def clipping_a_gradient_of_one_rank() -> list[bool]:
    """Whether a NaN that rank 1 alone has is in the gradient of each rank after the backward."""
    model = line()
    model(mine() / (1 - dist.get_rank())).sum().backward()
    return [bool(torch.tensor(one).isfinite()) for one in gradients(model)]


def a_batch_that_is_skipped() -> list[float]:
    """The first and the second gradient where rank 1 leaves out its first of three batches: 1, 2 beside 20, 30."""
    model, seen = line(process_group=dist.new_group()), []
    batches = ([1.0, 2.0], [10.0, 20.0, 30.0])[dist.get_rank()]
    for batch in batches:
        if batch == 10:
            continue
        model.zero_grad()
        model(torch.full((1, 1), batch)).sum().backward()
        seen.append(model.module.weight.grad.item())
    return seen


def microbatches_below_stages() -> str:
    """The error of 1F1B with one microbatch for two stages."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    example: Any = torch.ones(1, 1)
    stage = PipelineStage(
        nn.Linear(1, 1), dist.get_rank(), 2, torch.device("cpu"), input_args=(example,), output_args=(example,)
    )
    return error_of(lambda: Schedule1F1B(stage, 1))


def converted_after_wrapping() -> list[float]:
    """The gradients of a wrapped model whose dtype changed."""
    model = line()
    model.double()
    model(mine().double()).sum().backward()
    return gradients(model)


def assigned_after_wrapping() -> list[float]:
    """The gradients of a wrapped model whose parameters were replaced by those of a state dict."""
    model = line()
    model.module.load_state_dict({"weight": torch.ones(1, 1)}, assign=True)
    model(mine()).sum().backward()
    return gradients(model)


def unfrozen_after_wrapping() -> list[list[float]]:
    """The gradients of a layer that was frozen while DDP wrapped the model, and of one that was not."""
    inner = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    for weight in inner.parameters():
        nn.init.ones_(weight)
    inner[0].requires_grad_(False)
    model = DistributedDataParallel(inner)
    inner[0].requires_grad_(True)
    model(mine()).sum().backward()
    return [gradients(inner[0]), gradients(inner[1])]


def names_under_wrappers() -> list[Any]:
    """The keys under DDP and an average, what a forgiving load takes of them, and of what the prefix was taken off."""
    model = line()
    names = [next(iter(model.state_dict())), list(AveragedModel(nn.Linear(1, 1, bias=False)).state_dict())]
    plain = nn.Linear(1, 1, bias=False)
    taken = plain.load_state_dict(model.state_dict(), strict=False)
    state = {key.removeprefix("module."): value for key, value in model.state_dict().items()}
    return [*names, taken.missing_keys, taken.unexpected_keys, str(plain.load_state_dict(state, strict=True))]


class Drawn(Dataset[Any]):
    """Samples with their number and a random one of torch, of NumPy and of Python."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> list[float]:
        import numpy as np

        return [float(index), torch.rand(()).item(), float(np.random.rand()), random.random()]


def numbers_from_one_seed() -> list[list[bool]]:
    """Whether the samples, the numbers that workers draw for them, and a dropout mask are the same on both ranks."""
    import numpy as np

    seen = []
    for seed in (7, 7 + dist.get_rank()):
        for draw in (torch.manual_seed, np.random.seed, random.seed):
            draw(seed)
        samples: Any = Drawn()
        sampler: Any = DistributedSampler(samples)
        loader = DataLoader(samples, 8, sampler=sampler, num_workers=1, multiprocessing_context="fork")
        drawn = [*torch.stack(next(iter(loader))).tolist(), nn.Dropout(0.5)(torch.ones(64)).tolist()]
        seen.append([here == there for here, there in zip(*everywhere(drawn), strict=True)])
    return seen


def request_that_is_let_go() -> str:
    """The error of a recv whose message was sent with a request that nobody kept."""
    group = dist.new_group(timeout=timedelta(seconds=3))
    error = ""
    if dist.get_rank() == 0:
        dist.isend(torch.ones(2), 1, group=group)
    else:
        time.sleep(1)
        error = error_of(lambda: dist.recv(torch.zeros(2), 0, group=group))
    return str(everywhere(error)[1])


def request_of_a_tensor_that_is_written() -> list[float]:
    """What arrives of a tensor that is written again before its request is waited for."""
    tensor = torch.zeros(2)
    if dist.get_rank() == 0:
        request: Any = dist.isend(tensor.fill_(1), 1)
        tensor.fill_(7)
        request.wait()
    else:
        time.sleep(1)
        dist.recv(tensor, 0)
    return list(everywhere(tensor.tolist())[1])


def message_smaller_than_its_place() -> list[list[float]]:
    """What a recv of four numbers holds after two, and after two of twice the width."""
    seen = []
    for dtype in (torch.float32, torch.float64):
        tensor = torch.zeros(4)
        if dist.get_rank() == 0:
            dist.send(torch.ones(2, dtype=dtype), 1)
        else:
            dist.recv(tensor, 0)
        seen.append(everywhere(tensor.tolist())[1])
    return seen


AIDS = {"everywhere", "line", "mine", "gradients"}
SHOWN = [one for one in list(globals().values()) if inspect.isfunction(one) and one.__module__ == "__main__"]

if __name__ == "__main__":
    dist.init_process_group("gloo", timeout=LONG)
    seen = see(one for one in SHOWN if one.__name__ not in AIDS)
    if dist.get_rank() == 0:
        tell(seen)
    dist.monitored_barrier()
    dist.destroy_process_group()
