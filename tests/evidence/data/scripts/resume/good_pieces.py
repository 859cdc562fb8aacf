import torch
import torch.distributed as dist


def load(path, model, optimizer):
    saved = torch.load(f"{path}/part_{dist.get_rank():02d}.pt", weights_only=True)
    model.load_state_dict(saved["model"])
    for weight, moments in zip(optimizer.param_groups[0]["params"], saved["moments"]):
        optimizer.state[weight] = {name: value.clone() for name, value in moments.items()}
    return saved["step"]


def main(model, loader):
    dist.init_process_group("nccl")
    optimizer = torch.optim.AdamW(model.parameters())
    step = load("run", model, optimizer)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
    dist.destroy_process_group()
