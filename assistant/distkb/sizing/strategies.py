"""What each way of sharding holds on a rank, and what it sends: from a shape and a cluster to rows to compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from distkb.sizing.activations import Activations, activations
from distkb.sizing.shape import Shape, decoder
from distkb_probes.sharding import memory
from distkb_probes.sharding.memory import Bytes, Optimizer
from distkb_probes.sharding.plan import ITEM_BYTES, Api, Plan

Precision = Literal["bf16", "fp16", "pure-bf16", "fp32"]
Checkpointing = Literal["auto", "on", "off"]
"""Activation checkpointing: where it is needed, always, never."""

GIB = 1 << 30
CONTEXT = int(1.2 * GIB)
"""Allowance for the CUDA context, the libraries' workspaces and NCCL's buffers, which grow with the number of peers."""
SLACK = 0.25
"""Allowance for what the allocator cannot use, as a share of the tensors that come and go in a step.

Parameters, gradients and states lie still. Of the rest an H100's caching allocator took 2 to 18 % more in most of 28
runs, and up to 57 % where nothing held it back; held to 5 % more of all tensors, 12 of 27 ran out of memory, the one
that needed most at 16 % of what comes and goes (tests/sizing/measured_gpu.json, torch 2.11)."""


FSDP1 = ("shard_grad_op", "hybrid_shard", "full_shard")
"""Strategies of `FullyShardedDataParallel`; those of `fully_shard` begin with `fsdp2`."""


@dataclass(frozen=True)
class Workload:
    """The run that is asked about."""

    gpus: int
    per_node: int
    gpu_memory: int
    """Bytes of one GPU."""
    sequence: int = 2048
    batch: int = 1
    """Sequences in one micro-batch on one GPU."""
    optimizer: Optimizer = "adamw"
    precision: Precision = "bf16"
    lora: int = 0
    """Rank of the adapters; 0 trains every parameter."""
    host_memory: int | None = None
    """Bytes of one node's main memory, where it is known."""
    checkpointing: Checkpointing = "auto"

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return -(-self.gpus // self.per_node)


@dataclass(frozen=True)
class Strategy:
    """One way of sharding, with its bytes on the busiest rank. A step's figures are for one micro-batch."""

    name: str
    params: int
    grads: int
    optimizer: int
    gathered: int
    """What is there beside them all through forward and backward: gathered weights, copies, DDP's buckets."""
    passing: int
    """What a layer's backward adds besides: weights gathered for it and the next, gradients not yet reduced."""
    stepping: int
    """What is added when the activations are gone: by reducing the last gradients, or by the optimizer's step."""
    activations: Activations
    host: int
    """Bytes in the main memory of each node that offloading takes."""
    sent: int
    """Bytes that one GPU sends in a step with one micro-batch."""
    leaves_node: int
    """Bytes that leave each node in such a step, over all its network cards."""

    @property
    def states(self) -> int:
        """Parameters, gradients and optimizer state on the GPU."""
        return self.params + self.grads + self.optimizer

    def peak(self, *, checkpointing: bool) -> int:
        """Return the bytes that a GPU needs, allowances included.

        Gradients are counted as present in the forward: they are, from the second micro-batch of an accumulation on.
        """
        tensors = self.tensors(checkpointing=checkpointing)
        return tensors + int((tensors - self.states) * SLACK) + CONTEXT

    @property
    def working(self) -> int:
        """What computing adds to states and activations at its busiest moment, without checkpointing."""
        return self.gathered + max(0, self.passing - self.activations.loss)

    def tensors(self, *, checkpointing: bool) -> int:
        """Return the bytes of all tensors at the busiest moment.

        That is the loss's backward, when all activations are there; the first layer's backward after it, when the
        loss's are gone; or the end, when there are none.
        """
        saved = self.activations
        kept, again = (saved.checkpointed, saved.layer) if checkpointing else (saved.kept, 0)
        computing = self.gathered + kept + max(saved.loss, again + self.passing)
        return self.states + max(computing, self.stepping)


def strategies(shape: Shape, run: Workload) -> list[Strategy]:
    """Return every strategy that makes sense for the run, the one that sends the least first."""
    plan = listed(shape, run)
    table = memory.table(plan, _setting(run))
    out = [_row(name, table[name], plan, shape, run) for name in table if run.gpus > 1 or name == "ddp"]
    out += list(_offloaded(table, plan, shape, run))
    return out


def sharded(plan: Plan, shape: Shape, run: Workload) -> Strategy:
    """Return the row of FSDP2 alone: what shards everything over all ranks. `plan` is that of the shape and the run."""
    return _row("fsdp2", memory.fsdp2(plan, _setting(run), run.gpus), plan, shape, run)


def listed(shape: Shape, run: Workload) -> Plan:
    """Return the model's parameters in the dtypes that the run keeps them in."""
    whole = run.precision == "pure-bf16" or run.lora > 0
    return decoder(shape, dtype="bfloat16" if whole else "float32", lora=run.lora)


def _setting(run: Workload) -> memory.Setting:
    low: memory.Precision = "no" if run.precision == "fp32" else "fp16" if run.precision == "fp16" else "bf16"
    return memory.Setting(run.gpus, run.per_node, run.optimizer, low)


def _row(name: str, held: Bytes, plan: Plan, shape: Shape, run: Workload) -> Strategy:
    sent, leaves = traffic(name, plan, run)
    gathered, passing, ending = _working(name, held, plan, shape, run)
    return Strategy(
        name=name,
        params=held.params,
        grads=held.grads,
        optimizer=held.optimizer,
        gathered=gathered,
        passing=passing,
        stepping=max(ending, _step(name, held, run)),
        activations=_activations(name, shape, run),
        host=0,
        sent=sent,
        leaves_node=leaves,
    )


def _working(name: str, held: Bytes, plan: Plan, shape: Shape, run: Workload) -> tuple[int, int, int]:
    """Return what a strategy adds all through forward and backward, in a layer's backward, and at the end of it.

    FSDP keeps the root gathered, and its gradient whole until the end, where it is reduced: in the layers' backward
    that is the output matrix's. Of DeepSpeed and DDP nothing is known to come and go.
    """
    if name not in FSDP1 and not name.startswith("fsdp2"):
        return held.working - _never_cast(name, shape, run), 0, 0
    api: Api = "fsdp1" if name in FSDP1 else "fsdp2"
    compute = memory.compute_dtype(_setting(run))
    root, *layers = plan.units
    each = [memory.gathered(unit, compute) for unit in layers]
    whole = name in ("shard_grad_op", "fsdp2_no_reshard")
    gathered = memory.gathered(root, compute) + (sum(each) if whole else 0)
    passing = (0 if whole else memory.pair(each)) + max(memory.reducing(unit, api, compute) for unit in layers)
    if not run.lora:
        passing += shape.vocab * shape.hidden * ITEM_BYTES[compute or root.params[0].dtype]
    return gathered, passing, gathered + memory.reducing(root, api, compute)


def _never_cast(name: str, shape: Shape, run: Workload) -> int:
    """Return what the table counts too much: autocast copies the weights of matrix products, not an embedding's."""
    if name != "ddp" or run.precision not in ("bf16", "fp16") or run.lora or shape.tied:
        return 0
    return 2 * shape.vocab * shape.hidden


def _step(name: str, held: Bytes, run: Workload) -> int:
    """Return what the optimizer's step adds: Adam's for-each form makes a list of square roots, one state's size.

    (`torch.optim.adam._multi_tensor_adam`, the default on CUDA; `fused=True` makes none.) DeepSpeed steps in its own
    kernel.
    """
    if run.optimizer != "adamw" or name.startswith("zero"):
        return 0
    return held.optimizer // 2


def _activations(name: str, shape: Shape, run: Workload) -> Activations:
    full = run.precision == "fp32"
    autocast = name == "ddp" and run.precision in ("bf16", "fp16") and not run.lora
    return activations(shape, sequence=run.sequence, batch=run.batch, autocast=autocast, full=full, lora=run.lora > 0)


def _offloaded(table: dict[str, Bytes], plan: Plan, shape: Shape, run: Workload) -> Iterator[Strategy]:
    """Yield the strategies that keep something in main memory."""
    local = min(run.gpus, run.per_node)
    sources = {"zero2_offload": "zero2", "zero3_offload": "zero3", "fsdp2_offload": "fsdp2"}
    for name, base in sources.items():
        if base not in table:
            continue
        held = table[base]
        row = _row(base, held, plan, shape, run)
        if name == "fsdp2_offload":
            moved = held.params + held.grads + held.optimizer
            left = (0, 0, 0)
            stepping = _working(base, held, plan, shape, run)[2]
        else:
            # DeepSpeed keeps the low-precision weights on the GPU; gradients are moved as they are reduced.
            moved = held.grads + held.optimizer
            left = (held.params, 0, 0)
            stepping = 0
        kept = (row.gathered, row.passing, stepping)
        yield Strategy(name, *left, *kept, row.activations, moved * local, row.sent, row.leaves_node)


def traffic(name: str, plan: Plan, run: Workload) -> tuple[int, int]:
    """Return the bytes that one GPU sends in a step, and those that leave one node.

    Ring algorithms: an all-reduce of S bytes over n ranks sends 2 S (n - 1) / n from each, an all-gather or a
    reduce-scatter S (n - 1) / n (Patarasuk and Yuan, 2009). A ring crosses each node's border once, so what one rank
    sends is also what leaves a node, however many rings share the work.
    """
    low = run.precision != "fp32"
    trained = sum(param.numel for param in plan.params if param.trainable)
    gathered = sum(param.numel * (2 if low else param.item_bytes) for param in plan.params)
    reduced = trained * (2 if low else 4)
    if name == "ddp":
        total = 2 * sum(param.numel * ITEM_BYTES[param.dtype] for param in plan.params if param.trainable)
    elif name in ("zero1", "zero2"):
        total = trained * (2 if low else 4) + reduced
    elif name in ("shard_grad_op", "fsdp2_no_reshard"):
        total = gathered + reduced
    else:
        total = 2 * gathered + reduced
    if name in ("hybrid_shard", "fsdp2_hybrid"):
        inside = _share(total, run.per_node)
        across = _share(2 * reduced, run.nodes)
        return inside + across // run.per_node, across
    sent = _share(total, run.gpus)
    return sent, sent if run.nodes > 1 else 0


def _share(total: int, ranks: int) -> int:
    return total * (ranks - 1) // ranks
