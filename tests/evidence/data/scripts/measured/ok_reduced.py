import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from helpers import reduce_sum


class Trainer:
    def __init__(self, model, valid):
        self.model = model
        self.valid = valid
        self.loader = DataLoader(valid, batch_size=8, sampler=DistributedSampler(valid, shuffle=False))

    def before_division(self):
        correct = torch.zeros(1)
        for x, y in self.loader:
            correct += (self.model(x).argmax(1) == y).sum()
        dist.all_reduce(correct)
        return correct.item() / len(self.valid)

    def after_division(self):
        correct = 0
        for x, y in self.loader:
            correct += (self.model(x).argmax(1) == y).sum().item()
        return correct / len(self.valid)

    def in_each_batch(self):
        correct = 0
        for x, y in self.loader:
            hits = (self.model(x).argmax(1) == y).sum()
            dist.all_reduce(hits)
            correct += hits.item()
        return correct / len(self.valid)

    def by_helper(self):
        total = 0.0
        for x, y in self.loader:
            total += torch.nn.functional.mse_loss(self.model(x), y, reduction="sum").item()
        return reduce_sum(total) / len(self.valid)


def main(model, valid):
    dist.init_process_group("gloo")
    trainer = Trainer(model, valid)
    share = torch.tensor([trainer.after_division()])
    dist.all_reduce(share)
    print(share.item(), trainer.before_division(), trainer.in_each_batch(), trainer.by_helper())
