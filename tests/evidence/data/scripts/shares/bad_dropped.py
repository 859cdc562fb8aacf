"""A collate that may give back nothing."""

import torch, os
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, Speech


class Trainer:
    def __init__(self):
        ds = Speech()
        self.sampler = DistributedSampler(ds)
        self.loader = DataLoader(ds, 8, sampler=self.sampler, collate_fn=self.collate)
        self.model = DDP(Net().cuda())
        self.opt = torch.optim.Adam(self.model.parameters())

    @staticmethod
    def collate(items):
        items = [i for i in items if i["len"] < 16000]
        return torch.stack([i["x"] for i in items]) if items else None

    def fit(self):
        for ep in range(3):
            self.sampler.set_epoch(ep)
            for batch in self.loader:
                if batch is None:  # distkb: script.batch-may-be-dropped
                    continue
                loss = self.model(batch.cuda())
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
Trainer().fit()
