import csv
import logging
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from speech import WORDS, Spotter, utterances


class Finetuner:
    def __init__(self, encoder_file, lr=5e-4, batch=16, epochs=6):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.batch, self.epochs = batch, epochs
        self.log = logging.getLogger("kws")
        x, y = utterances(768, seed=7)
        self.x, self.y = x[self.rank::self.world], y[self.rank::self.world]
        vx, vy = utterances(480, seed=8)
        self.vx, self.vy = vx[self.rank::self.world], vy[self.rank::self.world]
        torch.manual_seed(13)
        self.net = DistributedDataParallel(Spotter())
        if self.rank == 0:
            self.net.module.encoder.load_state_dict(torch.load(encoder_file))
            self.log.info("encoder from %s", encoder_file)
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=lr)
        if self.rank == 0:
            self.csv = csv.writer(open("logs/epochs.csv", "w"))
            self.csv.writerow(["epoch", "train_loss", "val_loss", "val_acc"])

    def run(self):
        self.log.info("%d training and %d validation utterances on this process, %d words", len(self.x), len(self.vx), len(WORDS))
        for epoch in range(1, self.epochs + 1):
            order = torch.randperm(len(self.x), generator=torch.Generator().manual_seed(epoch))
            losses = []
            for b in order.split(self.batch):
                loss = F.cross_entropy(self.net(self.x[b]), self.y[b])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                losses.append(loss.item())
            train = sum(losses) / len(losses)
            self.log.info("epoch %d train loss %.4f", epoch, train)
            self.validate(epoch, train)
        if self.rank == 0:
            torch.save(self.net.module.state_dict(), "spotter.pt")
            self.log.info("spotter.pt saved")

    @torch.no_grad()
    def validate(self, epoch, train):
        out = self.net.module(self.vx)
        s = torch.stack([F.cross_entropy(out, self.vy, reduction="sum"), (out.argmax(1) == self.vy).sum().float(), torch.tensor(float(len(self.vy)))])
        dist.all_reduce(s)
        if self.rank == 0:
            self.csv.writerow([epoch, f"{train:.4f}", f"{s[0] / s[2]:.4f}", f"{s[1] / s[2]:.4f}"])
            self.log.info("epoch %d validation loss %.4f accuracy %.4f", epoch, s[0] / s[2], s[1] / s[2])


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(filename=f"logs/proc{os.environ['RANK']}.log", level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    Finetuner(sys.argv[1]).run()
    dist.destroy_process_group()
