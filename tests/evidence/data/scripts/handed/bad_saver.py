"""An object that saves on every rank."""

import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, batches


class Saver:
    def __init__(self, folder, keep=3):
        self.folder, self.keep, self.old = folder, keep, []
        os.makedirs(folder, exist_ok=True)

    def __call__(self, model, opt, step):
        path = os.path.join(self.folder, f"step{step}.pt")
        torch.save({"model": model.module.state_dict(), "opt": opt.state_dict()}, path)  # distkb: script.state-saved-by-all
        self.old.append(path)
        if len(self.old) > self.keep:
            os.remove(self.old.pop(0))


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = DDP(Net().cuda())
opt = torch.optim.SGD(model.parameters(), 0.1)
saver = Saver("ck")
for step, b in enumerate(batches()):
    model(b).backward()
    opt.step()
    opt.zero_grad()
    if step % 100 == 0:
        saver(model, opt, step)
