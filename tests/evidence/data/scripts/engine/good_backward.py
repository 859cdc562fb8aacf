import deepspeed
import torch


def main(net, other, loader):
    engine, _, _, _ = deepspeed.initialize(model=net)
    discriminator = torch.optim.AdamW(other.parameters())
    for batch in loader:
        loss = engine(batch)
        engine.backward(loss)
        engine.step()
        penalty = other(batch)
        penalty.backward()
        discriminator.step()
