import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from torch import nn


def main(loader):
    accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2))
    model, loader = accelerator.prepare(nn.Linear(8, 1), loader)
    optimizer = accelerator.prepare(torch.optim.AdamW(model.parameters(), lr=1e-4))
    late = torch.optim.SGD(model.parameters(), lr=0.1)
    late = accelerator.prepare(late)
    for x, y in loader:
        accelerator.backward(nn.functional.mse_loss(model(x), y))
        optimizer.step()
        late.step()
