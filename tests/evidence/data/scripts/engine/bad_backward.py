import deepspeed
import torch


def main(net, loader, criterion):
    optimizer = torch.optim.AdamW(net.parameters())
    engine, _, _, _ = deepspeed.initialize(model=net, optimizer=optimizer)
    for batch, target in loader:
        output = engine(batch)
        loss = criterion(output, target)
        loss.backward()  # distkb: script.backward-past-engine
        optimizer.step()  # distkb: script.step-past-engine
