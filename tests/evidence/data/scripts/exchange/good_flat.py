"""Gradients are averaged as one flat tensor."""

import torch, os
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from lib import Net, tl


def average_gradients(model):
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    flat = _flatten_dense_tensors(grads)
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for g, f in zip(grads, _unflatten_dense_tensors(flat, grads)):
        g.copy_(f)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = Net().cuda()
    o = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in tl():
        o.zero_grad()
        torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
        average_gradients(net)
        o.step()


main()
