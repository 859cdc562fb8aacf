import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(512, 256)
        self.decoder = nn.Linear(256, 8000)

    def forward(self, images):
        return self.decoder(self.encoder(images))


def main(lr):
    model = Captioner()
    critic = Captioner()
    first = torch.optim.SGD(critic.encoder.parameters(), lr=lr)
    fully_shard(model.encoder)
    fully_shard(model)
    slow = torch.optim.SGD(model.encoder.parameters(), lr=lr)
    return first, slow, torch.optim.AdamW(model.decoder.parameters(), lr=lr)


def counted(model, lr):
    trained = [p for p in model.parameters() if p.requires_grad]
    print(sum(p.numel() for p in trained))
    fully_shard(model.layers[0])
    fully_shard(model)
    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.AdamW(trained, lr=lr)
