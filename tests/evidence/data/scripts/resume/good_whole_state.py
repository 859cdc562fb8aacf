import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def restore(model, optimizer, path):
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1


def main(net, loader, path):
    model = DDP(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(restore(net, optimizer, path), 10):
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
