import json
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from codec.data import Tones
from codec.model import Codec, spectral


class Run:
    def __init__(self, path):
        self.cfg = json.load(open(path))
        dist.init_process_group("gloo")
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        torch.set_num_threads(1)
        torch.manual_seed(self.cfg["seed"])
        c = self.cfg
        ds = Tones(c["clips"], c["length"], c["seed"])
        self.sampler = DistributedSampler(ds, seed=c["seed"])
        self.loader = DataLoader(ds, batch_size=c["batch"], sampler=self.sampler, drop_last=True)
        self.net = DDP(Codec(c["channels"], c["dim"], c["codes"], c["commit"]))
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=c["lr"], betas=(0.8, 0.99))
        if self.rank == 0:
            os.makedirs(c["out"], exist_ok=True)
            for i, (n, p) in enumerate(self.net.module.named_parameters()):
                print(f"{i:2d} {n:24s} {tuple(p.shape)}")
            print(f"{len(ds)} clips, {len(self.loader)} steps per epoch, world {self.world}", flush=True)

    def step(self, wav):
        rec, ids, vq = self.net(wav)
        l_t = F.l1_loss(rec, wav)
        l_f = spectral(rec, wav)
        loss = l_t + 0.2 * l_f + vq
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()
        return {"wav": l_t.item(), "spec": l_f.item(), "vq": vq.item(), "used": ids.unique().numel()}

    def fit(self):
        n = 0
        for ep in range(self.cfg["epochs"]):
            self.sampler.set_epoch(ep)
            for wav in self.loader:
                m = self.step(wav)
                if self.rank == 0 and n % 4 == 0:
                    print(json.dumps({"epoch": ep, "step": n, **{k: round(v, 4) for k, v in m.items()}}), flush=True)
                n += 1
            if self.rank == 0:
                torch.save(self.net.module.state_dict(), os.path.join(self.cfg["out"], "codec.pt"))
        dist.destroy_process_group()


if __name__ == "__main__":
    Run(sys.argv[1] if len(sys.argv) > 1 else "conf/base.json").fit()
