"""One-shot detector of bright blobs on a grid (anchor free, one box per cell)."""
import argparse
import logging
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

GRID, SIZE = 8, 64


class Scenes(Dataset):
    """Images with 0 to 3 blobs, like the frames of a quiet camera."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        k = int(torch.multinomial(torch.tensor([0.45, 0.3, 0.15, 0.1]), 1, generator=g))
        img = 0.3 * torch.randn(1, SIZE, SIZE, generator=g)
        boxes = []
        for _ in range(k):
            cx, cy = (torch.rand(2, generator=g) * (SIZE - 16) + 8).tolist()
            r = 3 + 4 * torch.rand(1, generator=g).item()
            yy, xx = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
            img[0] += 2.0 * torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * (r / 2) ** 2))
            boxes.append([cx, cy, r, r])
        return img, torch.tensor(boxes).reshape(-1, 4)


def collate(rows):
    return torch.stack([r[0] for r in rows]), [r[1] for r in rows]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        def cbr(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(4, b), nn.ReLU())
        self.trunk = nn.Sequential(cbr(1, 16), cbr(16, 32), cbr(32, 64))
        self.obj = nn.Conv2d(64, 1, 1)
        self.box = nn.Conv2d(64, 4, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.obj(h).squeeze(1), self.box(h).permute(0, 2, 3, 1)


class Criterion(nn.Module):
    """Objectness over all cells, box regression over the cells that hold a blob."""

    def targets(self, boxes, device):
        cell = SIZE / GRID
        mask = torch.zeros(len(boxes), GRID, GRID, dtype=torch.bool, device=device)
        reg = torch.zeros(len(boxes), GRID, GRID, 4, device=device)
        for b, bx in enumerate(boxes):
            for cx, cy, w, h in bx.tolist():
                i, j = int(cy // cell), int(cx // cell)
                mask[b, i, j] = True
                reg[b, i, j] = torch.tensor([cx / cell - j, cy / cell - i, w / cell, h / cell])
        return mask, reg

    def forward(self, obj, box, boxes):
        if sum(len(b) for b in boxes) == 0:
            # only background here
            mask = torch.zeros_like(obj, dtype=torch.bool)
            num_pos = torch.zeros(1, device=obj.device)
            loss_box = box.sum() * 0.0
        else:
            mask, reg = self.targets(boxes, obj.device)
            num_pos = mask.sum().reshape(1)
            loss_box = F.smooth_l1_loss(box[mask], reg[mask], reduction="sum")
        loss_obj = F.binary_cross_entropy_with_logits(obj, mask.float(), reduction="sum")
        # normalise by the boxes of all workers
        dist.all_reduce(num_pos)
        norm = torch.clamp(num_pos / dist.get_world_size(), min=1).item()
        return loss_obj / norm, loss_box / norm, norm


def worker(rank, args):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", args.port)
    dist.init_process_group("gloo", rank=rank, world_size=args.workers)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s worker {rank}: %(message)s", datefmt="%H:%M:%S",
                        stream=sys.stdout)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    scenes = Scenes(args.scenes)
    sampler = DistributedSampler(scenes, args.workers, rank, seed=args.seed)
    loader = DataLoader(scenes, args.batch, sampler=sampler, collate_fn=collate, drop_last=True)
    net = DistributedDataParallel(Net())
    criterion = Criterion()
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    logging.info("%d scenes, %d steps per epoch, batch %d", len(scenes), len(loader), args.batch)
    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for img, boxes in loader:
            obj, box = net(img)
            lo, lb, norm = criterion(obj, box, boxes)
            opt.zero_grad()
            (lo + 2.0 * lb).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            step += 1
            if step % 5 == 0:
                logging.info("epoch %d step %d obj %.3f box %.3f boxes/worker %.1f", epoch, step, lo.item(), lb.item(), norm)
    if rank == 0:
        torch.save(net.module.state_dict(), args.out)
        logging.info("saved %s", args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--workers", type=int, default=3)
    ap.add_argument("--scenes", type=int, default=720)
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--port", default="29657")
    ap.add_argument("--out", default="blobs.pt")
    a = ap.parse_args()
    mp.spawn(worker, (a,), nprocs=a.workers)
