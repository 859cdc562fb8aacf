import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(512, 256)
        self.decoder = nn.Linear(256, 8000)

    def forward(self, images):
        return self.decoder(self.encoder(images))


class Training:
    def __init__(self, args):
        self.model = Captioner()
        self.slow = torch.optim.SGD(self.model.encoder.parameters(), lr=args.lr)  # distkb: script.optimizer-before-sharding
        self.shard()
        self.fast = torch.optim.AdamW(self.model.decoder.parameters(), lr=args.lr)

    def shard(self):
        fully_shard(self.model.encoder)
        fully_shard(self.model.decoder)
        fully_shard(self.model)


def listed(model, lr):
    trained = [p for p in model.parameters() if p.requires_grad]  # distkb: script.parameters-listed-before-sharding
    for block in model.layers:
        fully_shard(block)
    fully_shard(model)
    return torch.optim.AdamW(trained, lr=lr)


def clipped(net, loader):
    weights = list(net.parameters())  # distkb: script.parameters-listed-before-sharding
    net = FSDP(net)
    optimizer = torch.optim.AdamW(net.parameters())
    for batch in loader:
        net(batch).sum().backward()
        torch.nn.utils.clip_grad_value_(weights, 1.0)
        optimizer.step()
