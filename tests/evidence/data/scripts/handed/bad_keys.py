"""The wrapper in the keys."""

import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, loader


class Ck:
    def __init__(self, path):
        self.path = path

    def save(self, model, step):
        torch.save({"step": step, "model": model.state_dict()}, self.path)  # distkb: script.wrapped-keys-loaded-bare

    def load(self, model):
        blob = torch.load(self.path, map_location="cpu")
        model.load_state_dict(blob["model"])
        return blob["step"]


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    ck = Ck("last.pt")
    net = Net().cuda()
    start = ck.load(net) if os.path.exists("last.pt") else 0
    model = DDP(net)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for i, x in enumerate(loader(start)):
        model(x).backward()
        opt.step()
        opt.zero_grad()
        if dist.get_rank() == 0 and i % 500 == 0:
            ck.save(model, i)


main()
