import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import features

p = argparse.ArgumentParser()
p.add_argument("--clips", type=int, default=4000)
p.add_argument("--cache", default="cache")
p.add_argument("--epochs", type=int, default=3)
p.add_argument("--batch", type=int, default=32)
args = p.parse_args()

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
logging.basicConfig(level=logging.DEBUG, format=f"%(asctime)s [{os.getpid()}] r{rank} %(name)s: %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("train")
torch.set_num_threads(1)


class KeywordNet(nn.Module):
    def __init__(self, n_mels=64, n_out=len(features.WORDS)):
        super().__init__()
        self.conv = nn.Sequential(
            nn.BatchNorm1d(n_mels),
            nn.Conv1d(n_mels, 48, 5, stride=2), nn.ReLU(),
            nn.Conv1d(48, 48, 5, stride=2), nn.ReLU())
        self.out = nn.Linear(48, n_out)

    def forward(self, x):
        return self.out(self.conv(x.transpose(1, 2)).mean(2))


def main():
    log.info("arguments: %s", vars(args))
    x, y = features.load(args.cache, args.clips)
    dist.init_process_group("gloo")
    log.info("process group up, world size %d", world)
    data = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    sampler = DistributedSampler(data, seed=3)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler, drop_last=True)
    torch.manual_seed(0)
    model = DDP(KeywordNet())
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        hit = seen = 0
        for xb, yb in loader:
            logits = model(xb)
            loss = nn.functional.cross_entropy(logits, yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hit += (logits.argmax(1) == yb).sum().item()
            seen += len(yb)
        log.info("epoch %d loss %.4f train acc %.3f (%d clips)", epoch, loss.item(), hit / seen, seen)
    if rank == 0:
        torch.save(model.module.state_dict(), "keywords.pt")
        log.info("wrote keywords.pt")
    dist.destroy_process_group()


main()
