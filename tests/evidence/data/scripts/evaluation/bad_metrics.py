"""Another name, with `eval()`."""

import os

import torch
import torch.distributed as dist
from lib import Net, loader
from torch.nn.parallel import DistributedDataParallel as DDP


def compute_metrics(model, batches):
    model.eval()
    hits = []
    for x, y in batches:
        logits = model(x.cuda())  # distkb: script.evaluation-builds-graph
        hits.append((logits.argmax(-1) == y.cuda()).float().mean())
    model.train()
    return torch.stack(hits).mean()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = DDP(Net().cuda())
opt = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(3):
    for x, y in loader("train"):
        torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
        opt.step()
        opt.zero_grad()
    print(compute_metrics(net, loader("val")))
