import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class PatchMixer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Forecaster(nn.Module):
    def __init__(self, context, horizon, dim=48, depth=3):
        super().__init__()
        self.inp = nn.Linear(context, dim)
        self.layers = nn.ModuleList([PatchMixer(dim) for _ in range(depth)])
        self.out = nn.Linear(dim, horizon)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def build(cfg, world):
    model = Forecaster(cfg["context"], cfg["horizon"], cfg["dim"], cfg["depth"])
    mesh = init_device_mesh("cpu", (world,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)
