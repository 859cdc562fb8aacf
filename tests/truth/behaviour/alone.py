"""What one process does with data, numbers and state; each function returns what it saw."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from shown import error_of, see, tell
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, DistributedSampler, RandomSampler, random_split


def order(sampler: Any) -> list[int]:
    """The samples of one pass."""
    return [int(index) for index in sampler]


def half(rank: int, samples: int = 64) -> DistributedSampler[Any]:
    """The sampler of one of two ranks."""
    indexed: Any = range(samples)
    return DistributedSampler(indexed, num_replicas=2, rank=rank)


def rank_outside_of_the_replicas() -> str:
    """The error of a sampler with the global rank and the local number of processes."""
    return error_of(lambda: half(9))


def epoch_on_one_rank_only() -> int:
    """How many of 64 samples two ranks meet when only one of them was told the epoch."""
    first, second = half(0), half(1)
    first.set_epoch(1)
    return len(set(order(first)) | set(order(second)))


def epoch_after_the_first_batch() -> list[bool]:
    """Whether set_epoch counts for a pass: after iter(), and after the first batch of it."""
    seen = []
    for taken in (0, 1):
        sampler = half(0)
        batches = iter(DataLoader(range(64), sampler=sampler))  # type: ignore[arg-type]
        head = [int(next(batches)) for _ in range(taken)]
        sampler.set_epoch(1)
        rest = head + [int(batch) for batch in batches]
        seen.append(rest == order(sampler))
    return seen


def same_seed_same_batch() -> bool:
    """Whether two ranks that were seeded alike draw the same samples without a distributed sampler."""
    indexed: Any = range(64)
    orders = []
    for _ in range(2):
        torch.manual_seed(0)
        orders.append(order(RandomSampler(indexed)))
    return orders[0] == orders[1]


def splits_without_a_seed() -> bool:
    """Whether two splits without a seed have the same training part."""
    indexed: Any = range(64)
    first, second = (random_split(indexed, [32, 32])[0] for _ in range(2))
    return sorted(first.indices) == sorted(second.indices)


def workers_of_a_loader() -> int:
    """The number of workers where none is given."""
    return DataLoader(range(2)).num_workers  # type: ignore[arg-type]


def largest_half() -> float:
    """The largest number of fp16."""
    return float(torch.finfo(torch.float16).max)


def updates_of_a_bfloat16_weight() -> list[bool]:
    """Whether a weight of 1 moves by a three-hundredth of it, and by a hundredth."""
    one = torch.ones((), dtype=torch.bfloat16)
    return [bool(one + torch.tensor(size, dtype=torch.bfloat16) != one) for size in (1 / 300, 1 / 100)]


def clipping_infinity() -> list[bool]:
    """Whether a clipped gradient beside an infinite one is 0, and whether that one is NaN."""
    model = nn.Linear(2, 1, bias=False)
    model.weight.grad = torch.tensor([[float("inf"), 1.0]])
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return [bool(model.weight.grad[0, 1] == 0), bool(model.weight.grad[0, 0].isnan())]


def mean_of_nothing() -> list[bool]:
    """Whether the mean of an empty batch and the loss of an all-padding one are NaN."""
    padding = nn.functional.cross_entropy(torch.zeros(2, 3), torch.full((2,), -100))
    return [bool(torch.ones(0).mean().isnan()), bool(padding.isnan())]


def gradient_through_a_replaced_nan() -> list[bool]:
    """Whether the gradient behind nan_to_num is NaN: of a square root and a quotient."""
    seen = []
    for broken in (lambda x: x.sqrt(), lambda x: (x - x) / (x - x)):
        x = torch.tensor(-1.0, requires_grad=True)
        torch.nan_to_num(broken(x)).backward()  # type: ignore[no-untyped-call]
        seen.append(bool(x.grad is not None and x.grad.isnan()))
    return seen


def first_step_of_adam() -> list[float]:
    """How far a weight moves in the first step at a rate of 0.1, whatever its gradient."""
    moved = []
    for gradient in (1e-3, 1e3):
        weight = nn.Parameter(torch.zeros(()))
        weight.grad = torch.tensor(gradient)
        torch.optim.AdamW([weight], lr=0.1, weight_decay=0.0).step()
        moved.append(round(abs(weight.item()), 3))
    return moved


def schedule_without_initial_rate() -> str:
    """The error of a schedule that is told its last epoch, on an optimizer that was not loaded."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1)
    return error_of(lambda: torch.optim.lr_scheduler.StepLR(optimizer, 1, last_epoch=5))


def schedule_stepped_forward() -> str:
    """The warning where a new schedule is stepped in a loop."""
    schedule = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1), 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schedule.step()
    return str(caught[0].message) if caught else ""


def one_cycle_past_its_end() -> str:
    """The error of OneCycleLR that is stepped once more than it was told."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2)
    optimizer.step()
    schedule.step()
    schedule.step()
    return error_of(schedule.step)


def forgiving_load() -> list[bool]:
    """Whether a forgiving load of a checkpoint with DDP's prefix raises, and whether it changes a weight."""
    model = nn.Linear(1, 1)
    before = model.weight.detach().clone()
    wrong = {f"module.{name}": value + 1 for name, value in model.state_dict().items()}
    raised = bool(error_of(lambda: model.load_state_dict(wrong, strict=False)))
    return [raised, bool((model.weight != before).any())]


def prefixes_of_wrappers() -> list[str]:
    """The first parameter's name under torch.compile, and of a block in a checkpoint wrapper."""
    compiled: Any = torch.compile(nn.Linear(1, 1))
    wrapped = nn.Sequential(checkpoint_wrapper(nn.Linear(1, 1)))
    return [next(iter(dict(model.named_parameters()))) for model in (compiled, wrapped)]


def checkpoint_without_its_argument() -> str:
    """The warning of torch.utils.checkpoint without use_reentrant."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoint(lambda x: x * 2, torch.ones(1, requires_grad=True))
    return " ".join(str(one.message) for one in caught)[:200]


def reentrant_behind_frozen_inputs() -> str:
    """The warning of a reentrant block whose input requires no gradient."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoint(nn.Linear(1, 1), torch.ones(1), use_reentrant=True)
    return " ".join(str(one.message) for one in caught)[:200]


def reentrant_with_keywords() -> str:
    """The error of a reentrant block that is called with a keyword."""
    return error_of(lambda: checkpoint(lambda x: x, x=torch.ones(1, requires_grad=True), use_reentrant=True))


def recomputation_with_another_draw() -> list[bool]:
    """Whether the recomputation draws what the forward drew: from torch, and from Python's random."""
    seen = []
    for draw in (lambda: float(torch.rand(())), random.random):
        drawn: list[float] = []

        def block(x: torch.Tensor, draw: Any = draw, drawn: list[float] = drawn) -> torch.Tensor:
            drawn.append(draw())
            return (x * 2).sin()

        x = torch.ones(2, requires_grad=True)
        result: Any = checkpoint(block, x, use_reentrant=False)
        result.sum().backward()
        seen.append(drawn[0] == drawn[1])
    return seen


def recomputation_of_another_shape() -> str:
    """The error of a block that makes fewer tensors the second time."""
    calls: list[int] = []

    def block(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return (x.sin() * x).cos() if len(calls) == 1 else x.sin()

    result: Any = checkpoint(block, torch.ones(2, requires_grad=True), use_reentrant=False)
    return error_of(lambda: result.sum().backward())


def things_without_a_name() -> list[bool]:
    """Whether a lambda and a function inside a function can be sent to a spawned process."""

    def inside() -> None:
        pass

    return [not error_of(lambda one=one: pickle.dumps(one)) for one in (lambda: None, inside)]  # type: ignore[misc]


def things_that_cannot_be_sent() -> list[bool]:
    """Whether a lock, a thread, an open file and a generator can be sent to a spawned process."""
    with Path(__file__).open() as file:
        things = (threading.Lock(), threading.Thread(), file, (one for one in (1,)))
        return [not error_of(lambda one=one: pickle.dumps(one)) for one in things]  # type: ignore[misc]


def start_method_twice() -> str:
    """The error of a second set_start_method."""
    multiprocessing.set_start_method("spawn", force=True)
    return error_of(lambda: multiprocessing.set_start_method("fork"))


def renaming_twice() -> list[str]:
    """The errors of the second rename of a file, and of a folder onto one that is not empty."""
    with tempfile.TemporaryDirectory() as home:
        tmp, final = Path(home, "model.tmp"), Path(home, "model")
        tmp.touch()
        tmp.rename(final)
        file = error_of(lambda: tmp.rename(final))
        for name in ("a", "b"):
            Path(home, name).mkdir()
            Path(home, name, "file").touch()
        folder = error_of(lambda: Path(home, "a").rename(Path(home, "b")))
    return [file.partition(":")[0], folder.partition(":")[0] + (" not empty" if "not empty" in folder else "")]


def names_sorted_as_text() -> list[str]:
    """Names of checkpoints in the order of their text."""
    return sorted(["step-90", "step-1000"])


def order_of_a_set_in_two_processes() -> bool:
    """Whether a set of strings has the same order under two hash seeds."""
    import subprocess
    import sys

    code = "print(list({str(n) for n in range(50)}))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    return runs[0] == runs[1]


def empty_group_of_parameters() -> str:
    """The error of an optimizer of which one group is empty."""
    groups: list[dict[str, Any]] = [{"params": [nn.Parameter(torch.zeros(1))]}, {"params": []}]
    return error_of(lambda: torch.optim.SGD(groups, 0.1))


def limit_of_recompilations() -> int:
    """After how many versions a frame is not compiled again."""
    from torch._dynamo import config

    return int(getattr(config, "recompile_limit", None) or config.cache_size_limit)


def ddp_cut_into_pieces() -> bool:
    """Whether torch.compile cuts the graph of a DDP model by itself."""
    from torch._dynamo import config

    return bool(config.optimize_ddp)


def size_below_which_nothing_is_wrapped() -> int:
    """The size policy's own threshold."""
    from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

    return int(inspect.signature(size_based_auto_wrap_policy).parameters["min_num_params"].default)


def prefetch_of_fsdp1() -> str:
    """FSDP1's own backward prefetch."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    return str(inspect.signature(FullyShardedDataParallel.__init__).parameters["backward_prefetch"].default)


def loading_into_meta() -> list[object]:
    """What is said where values are loaded into parameters on the meta device, and where these are afterwards."""
    model = nn.Linear(2, 2, device="meta")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.load_state_dict(nn.Linear(2, 2).state_dict())
    return [any("no-op" in str(one.message) for one in caught), model.weight.device.type]


def moving_off_meta() -> str:
    """The error of `to` on a model whose parameters are on the meta device."""
    return error_of(lambda: nn.Linear(2, 2, device="meta").to("cpu"))


def buffers_that_are_not_saved() -> list[bool]:
    """Whether a buffer is in the state dict: one that is persistent, one that is not."""
    model = nn.Module()
    for kept in (True, False):
        model.register_buffer(str(kept), torch.ones(1), persistent=kept)
    return [name in model.state_dict() for name in ("True", "False")]


def saving_without_room() -> str:
    """The error of torch.save where a file may not grow further."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tempfile.TemporaryDirectory() as home:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
        try:
            return error_of(lambda: torch.save(torch.zeros(1 << 20), Path(home, "model.pt")))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def half_of_an_archive() -> str:
    """The error of loading a checkpoint of which the end is missing."""
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "model.pt")
        torch.save(torch.zeros(1 << 10), path)
        path.write_bytes(path.read_bytes()[:2000])
        return error_of(lambda: torch.load(path))


def bytes_of_a_parameter() -> list[float]:
    """How many bytes a parameter takes with its gradient and AdamW's moments, by the dtype of the weights."""
    taken = []
    for dtype in (torch.float32, torch.bfloat16):
        weight = nn.Parameter(torch.ones(8, 8, dtype=dtype))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            nn.functional.linear(torch.ones(8, 8), weight).sum().backward()  # type: ignore[no-untyped-call]
        optimizer = torch.optim.AdamW([weight])
        optimizer.step()
        held = [weight, weight.grad, *(one for one in optimizer.state[weight].values() if one.numel() > 1)]
        taken.append(sum(one.numel() * one.element_size() for one in held) / weight.numel())
    return taken


def moments_before_the_first_step() -> list[int]:
    """How much state AdamW holds before and after its first step."""
    weight = nn.Parameter(torch.ones(3))
    optimizer, held = torch.optim.AdamW([weight]), []
    weight.grad = torch.ones(3)
    for _ in range(2):
        held.append(len(optimizer.state))
        optimizer.step()
    return held


def graph_in_eval_mode() -> list[bool]:
    """Whether what a model returns has a graph: in eval mode, and under no_grad."""
    model = nn.Linear(1, 1).eval()
    with torch.no_grad():
        bare = model(torch.ones(1))
    return [model(torch.ones(1)).requires_grad, bare.requires_grad]


def what_a_kept_loss_holds() -> list[object]:
    """How many numbers of the layer before a kept loss still reaches, and what it reaches once it is detached."""
    loss = nn.Linear(4, 4)(torch.ones(4)).tanh().sum()
    before: Any = loss.grad_fn.next_functions[0][0] if loss.grad_fn else None
    return [before._saved_result.numel(), loss.detach().grad_fn]


def gradients_that_are_zeroed() -> list[bool]:
    """Whether there is a gradient after zero_grad: by default, and without setting it to None."""
    left = []
    for more in ({}, {"set_to_none": False}):
        weight = nn.Parameter(torch.ones(1))
        weight.grad = torch.ones(1)
        torch.optim.SGD([weight], 0.1).zero_grad(**more)
        left.append(weight.grad is not None)
    return left


class Fields(Dataset[Any]):
    """Samples of four tensors."""

    def __len__(self) -> int:
        return 80

    def __getitem__(self, index: int) -> list[torch.Tensor]:
        return [torch.ones(2)] * 4


class Worker(torch.utils.data.Dataset[int]):
    """Samples that say which process read them, wait, or end it."""

    def __init__(self, what: str = "") -> None:
        self.what = what

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> int:
        if self.what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.what == "wait":
            threading.Event().wait(60)
        return os.getpid()


def workers_of_two_epochs() -> list[bool]:
    """Whether the second epoch has the workers of the first: by default, and with persistent_workers."""
    same = []
    for kept in (False, True):
        loader = DataLoader(Worker(), num_workers=1, persistent_workers=kept, multiprocessing_context="fork")
        first, second = (int(next(iter(loader))) for _ in range(2))
        same.append(first == second)
    return same


def worker_that_is_killed() -> str:
    """The error of the rank whose worker is killed."""
    return error_of(lambda: next(iter(DataLoader(Worker("die"), num_workers=1, multiprocessing_context="fork"))))


def worker_past_its_time() -> str:
    """The error of a loader with a time limit whose worker does not answer."""
    return error_of(
        lambda: next(iter(DataLoader(Worker("wait"), num_workers=1, timeout=1, multiprocessing_context="fork")))
    )


def output_that_nobody_reads() -> list[Any]:
    """What a process is doing that prints into a pipe which nobody reads, and whether it ends once somebody does."""
    code = "for line in range(2000): print('x' * 99, flush=True)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as job:
        time.sleep(3)
        ended, state = job.poll(), Path(f"/proc/{job.pid}/stat").read_text().rpartition(")")[2].split()[0]
        where = Path(f"/proc/{job.pid}/wchan").read_text()
        known = where in {"", "0"} or where.endswith("pipe_write")  # a sandbox may hide it
        assert job.stdout is not None
        with Path(f"/proc/{job.pid}/fd/1").open("rb") as read:
            job.stdout.close()
            lines = len(read.read().splitlines())
    return [ended, state, known, lines, job.returncode]


def batches_that_are_kept() -> list[Any]:
    """The error of keeping batches of four tensors with 128 files, without one, and of keeping copies."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def go(keep: Any) -> int:
        loader: Any = DataLoader(Fields(), batch_size=2, num_workers=2, multiprocessing_context="fork")
        return len([[keep(field) for field in batch] for batch in loader])

    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        return [error_of(lambda: go(lambda field: field)).partition(".")[0], go(torch.Tensor.clone)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def config_before_the_group() -> str:
    """The error of DeepSpeed's config under a launcher that started two ranks, before there is a process group."""
    os.environ.update({"DS_ACCELERATOR": "cpu", "WORLD_SIZE": "2"})
    try:
        from deepspeed.runtime.config import DeepSpeedConfig  # type: ignore[import-not-found,unused-ignore]

        numbers = {"train_batch_size": 16, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}
        return error_of(lambda: DeepSpeedConfig(numbers))
    finally:
        del os.environ["WORLD_SIZE"]


def commands_over_ssh() -> list[str]:
    """Where each part of a command runs that is given to ssh without and with quotes; a function stands for ssh."""
    stand_in = 'ssh() { shift; here=there eval "$@"; }; here=here; torchrun() { echo $here; }; '
    lines = ("ssh node cd / && torchrun", "ssh node cd / ; torchrun", "ssh node 'cd / && torchrun'")
    return [subprocess.check_output(["bash", "-c", stand_in + line], text=True).strip() for line in lines]


SHOWN = [one for one in list(globals().values()) if inspect.isfunction(one) and one.__module__ == "__main__"]
AIDS = {"order", "half"}

if __name__ == "__main__":
    tell(see(one for one in SHOWN if one.__name__ not in AIDS))
