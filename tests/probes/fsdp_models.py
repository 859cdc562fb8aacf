"""User projects for the model probe, and ways to run it on them."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

PROBES = Path(__file__).resolve().parents[2] / "probes"

MODELS = '''
import torch
from torch import nn

print("a user module that prints at import")


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width + 1)
        self.down = nn.Linear(2 * width + 1, width, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):
    """Sizes that divide by neither 2 nor 3 ranks."""

    def __init__(self, blocks=3, width=8, tied=False, vocabulary=13):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, x):
        x = self.embed(x)
        for block in self.layers:
            x = block(x)
        return self.head(self.norm(x))


def plain():
    return Net()


def large():
    return Net(blocks=6, width=2048, vocabulary=30000)


def tied():
    return Net(tied=True)


def fsdp2(model=None, **options):
    from torch.distributed.fsdp import fully_shard

    model = model or Net()
    for block in model.layers:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def uneven():
    return fsdp2()


def fsdp2_root_only():
    from torch.distributed.fsdp import fully_shard

    return fully_shard(Net())


def fsdp2_blocks_only():
    from torch.distributed.fsdp import fully_shard

    model = Net()
    for block in model.layers:
        fully_shard(block)
    return model


def fsdp2_tied_apart():
    from torch.distributed.fsdp import fully_shard

    model = Net(tied=True)
    fully_shard(model.embed)
    return fsdp2(model)


def fsdp2_tied_together():
    return fsdp2(Net(tied=True))


def fsdp2_half_precision_policy():
    from torch.distributed.fsdp import MixedPrecisionPolicy

    return fsdp2(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))


def fsdp2_dtypes():
    model = Net()
    model.layers[1].down.half()
    return fsdp2(model)


def fsdp2_lora():
    model = Net()
    for name, param in model.named_parameters():
        param.requires_grad_("norm" in name)
    return fsdp2(model)


def fsdp2_pure_bf16():
    return fsdp2(Net().bfloat16())


def hybrid(names=("replicate", "shard"), shape=None):
    from torch.distributed.device_mesh import init_device_mesh
    import torch.distributed as dist

    dist.init_process_group("nccl")
    torch.cuda.set_device(0)
    shape = shape or (dist.get_world_size() // 8, 8)
    return fsdp2(Net().to("cuda"), mesh=init_device_mesh("cuda", shape, mesh_dim_names=names))


def hybrid_across():
    from torch.distributed.device_mesh import DeviceMesh

    # Replicates inside a node and shards across the nodes.
    ranks = torch.arange(16).view(2, 8).T.contiguous()
    return fsdp2(Net(), mesh=DeviceMesh("cuda", ranks, mesh_dim_names=("replicate", "shard")))


def fsdp1(original=True, freeze=False, **options):
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    model = Net()
    if freeze:
        for name, param in model.named_parameters():
            param.requires_grad_("norm" in name)
    if "device_id" not in options:
        options["device_id"] = torch.cuda.current_device()
    return FullyShardedDataParallel(
        model, auto_wrap_policy=ModuleWrapPolicy({Block}), use_orig_params=original, **options
    )


def fsdp1_tied_apart():
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    return FullyShardedDataParallel(Net(tied=True), auto_wrap_policy=ModuleWrapPolicy({Block, nn.Embedding}))


def ddp():
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("nccl")
    return DistributedDataParallel(Net().cuda(), device_ids=[torch.cuda.current_device()])


def offloaded():
    from torch.distributed.fsdp import CPUOffloadPolicy

    return fsdp2(offload_policy=CPUOffloadPolicy())


def fsdp1_flat():
    return fsdp1(False)


def fsdp1_frozen():
    return fsdp1(freeze=True)


def fsdp1_frozen_refused():
    return fsdp1(False, freeze=True)


def fsdp1_dtypes_refused():
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = Net()
    model.layers[1].down.half()
    return FullyShardedDataParallel(model)


def fsdp1_no_shard():
    from torch.distributed.fsdp import ShardingStrategy

    return fsdp1(sharding_strategy=ShardingStrategy.NO_SHARD)


def drop_path():
    rates = [x.item() for x in torch.linspace(0, 0.1, 3)]
    assert len(rates) == 3 and abs(rates[2] - 0.1) < 1e-6
    return Net()


def asks_for_devices():
    """What training scripts do on the way to a model, on a machine that has eight GPUs."""
    import torch.distributed as dist

    dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    torch.set_default_device("cuda")
    model = Net()
    model.head.weight = nn.Parameter(torch.zeros(13, 8, device="cpu"))
    model.to("cuda:0").cuda().to(device="cuda", dtype=torch.bfloat16).to(torch.device("cuda", 1)).float()
    assert torch.ones(3, device="cpu").to("cuda", torch.float16).dtype == torch.float16
    assert torch.zeros(2, device="cuda").is_meta and torch.zeros(2, device=0).is_meta
    assert not torch.zeros(2, device="cpu").to(torch.float16).is_meta
    assert torch.arange(6).view(2, 3).T[1].tolist() == [1, 4]
    with torch.device("cuda"):
        assert nn.Linear(2, 2).weight.is_meta
    dist.new_group([0, 1], backend="nccl")
    dist.all_reduce(torch.ones(3))
    dist.barrier()
    dist.destroy_process_group()
    assert dist.get_world_size() == 16
    return model.to_empty(device="cuda")


def lazy():
    return nn.Sequential(nn.LazyLinear(3))


def scalar():
    model = Net()
    model.temperature = nn.Parameter(torch.tensor(1.0))
    return model


def reads_a_weight():
    model = Net()
    model.scale = model.norm.weight.sum().item()
    return model


def raises():
    raise RuntimeError("no\\ncheckpoint here")


def exits():
    import sys

    sys.exit(3)


def needs(width):
    return Net(width)


def not_a_model():
    return {"model": 1}
'''

JOB = """
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel

import models


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def stored(tensors):
    # Each storage that the tensors are views of counts once.
    found = {}
    for tensor in tensors:
        storage = local(tensor).untyped_storage()
        found[storage.data_ptr() or id(storage)] = storage.nbytes()
    return sum(found.values())


def measured(model):
    units = FullyShardedDataParallel.fsdp_modules(model)
    shards = [unit._handle.flat_param for unit in units] or list(model.parameters())
    optimizer = torch.optim.AdamW(model.parameters())
    params = stored(shards)
    model(torch.arange(4).view(2, 2)).sum().backward()
    grads = stored([shard.grad for shard in shards if shard.grad is not None])
    optimizer.step()
    kept = [value for state in optimizer.state.values() for name, value in state.items() if name != "step"]
    return [params, grads, sum(local(value).nbytes for value in kept)]


dist.init_process_group("gloo")
found = {
    "uneven": measured(models.uneven()),
    "fsdp1": measured(models.fsdp1(True, device_id=torch.device("cpu"))),
    "fsdp1_flat": measured(models.fsdp1(False, device_id=torch.device("cpu"))),
}
with open(f"{sys.argv[1]}/{dist.get_rank()}.json", "w") as file:
    json.dump(found, file)
dist.destroy_process_group()
os._exit(0)  # not through the interpreter's end, where torch 2.13 may abort: pytorch#190489
"""

MANY = """
import json
import sys

sys.path.insert(0, sys.argv[1])
from distkb_probes import fsdp
from distkb_probes._report import Report, Stopped

for line in sys.stdin:
    report = Report("fsdp")
    try:
        fsdp.run(json.loads(line), report)
    except Stopped:
        pass
    sys.stdout.write("DOCUMENT " + json.dumps(report.document()) + "\\n")
"""


@cache
def project() -> Path:
    """Return a directory with the user's modules."""
    folder = Path(mkdtemp(prefix="distkb-models-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "models.py").write_text(MODELS)
    (folder / "job.py").write_text(JOB)
    (folder / "ends.py").write_text("import sys\nprint('stopping')\nsys.exit(3)\n")
    (folder / "broken.py").write_text("import models\nvalue = models.missing_name\n")
    (folder / "many.py").write_text(MANY)
    return folder


def environment() -> dict[str, str]:
    """Return an environment in which torch starts few threads and finds nothing of a run."""
    kept = {k: v for k, v in os.environ.items() if k not in {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT"}}
    return {**kept, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}


def inspect(requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the documents of several requests, answered one after the other by one process."""
    lines = "".join(json.dumps({"directory": str(project()), "world_size": 16, **item}) + "\n" for item in requests)
    done = subprocess.run(
        [sys.executable, str(project() / "many.py"), str(PROBES)],
        input=lines,
        capture_output=True,
        text=True,
        env=environment(),
        cwd=project(),
        timeout=120,
        check=False,
    )
    documents = [json.loads(line[9:]) for line in done.stdout.splitlines() if line.startswith("DOCUMENT ")]
    assert len(documents) == len(requests), done.stderr[-2000:]
    return documents


def alone(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document that the probe prints when it is started as distkb starts it."""
    done = subprocess.run(
        [sys.executable, str(PROBES / "distkb_probes"), "fsdp"],
        input=json.dumps({"directory": str(project()), "world_size": 16, **request}) + "\n",
        capture_output=True,
        text=True,
        env=environment(),
        cwd=project(),
        timeout=120,
        check=False,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def ids(document: Mapping[str, Any]) -> set[str]:
    """Return the findings of a document."""
    return {item["id"] for item in document["found"]}
