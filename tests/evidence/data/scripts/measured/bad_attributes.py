import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Evaluator:
    def __init__(self, model, dataset, args):
        self.model = model
        self.dataset = dataset
        sampler = DistributedSampler(dataset, shuffle=False) if args.distributed else None
        self.loader = DataLoader(self.dataset, batch_size=args.batch_size, sampler=sampler)
        self.errors = []

    def run(self):
        self.errors = []
        for step, batch in enumerate(self.loader):
            predicted = self.model(batch["x"])
            self.errors.extend((predicted - batch["y"]).abs().flatten().tolist())

    def summary(self):
        return {"mae": np.sum(self.errors) / len(self.dataset)}  # distkb: script.share-divided-by-whole


def fit(args, train, dev):
    dist.init_process_group("nccl")
    model = DDP(torch.nn.Linear(8, 1))
    evaluator = Evaluator(model, dev, args)
    best = None
    for _ in range(args.epochs):
        evaluator.run()
        result = evaluator.summary()
        if dist.get_rank() == 0 and (best is None or result["mae"] < best):
            best = result["mae"]
            torch.save(model.module.state_dict(), "best.pt")
