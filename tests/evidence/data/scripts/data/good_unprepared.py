"""Subclasses of the Trainer whose training loader is prepared, or divided by the script."""

from torch.utils.data import DataLoader, DistributedSampler, Sampler
from transformers import Trainer, TrainingArguments


class Prepared(Trainer):
    def get_train_dataloader(self):
        loader = DataLoader(self.train_dataset, shuffle=True)
        return self.accelerator.prepare(loader)


class Sampled(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, sampler=DistributedSampler(self.train_dataset))


class Own(Sampler):
    def __init__(self, data, args):
        self.data, self.first, self.step = data, args.process_index, args.world_size

    def __iter__(self):
        return iter(range(self.first, len(self.data), self.step))


class OwnSampler(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, batch_sampler=Own(self.train_dataset, self.args))


class Changed(Trainer):
    def get_train_dataloader(self):
        loader = super().get_train_dataloader()
        loader.collate_fn = list
        return loader

    def get_eval_dataloader(self, eval_dataset=None):
        return DataLoader(eval_dataset or self.eval_dataset)


class Loop:
    def get_train_dataloader(self):
        return DataLoader([1, 2])


def main(model, data):
    args = TrainingArguments("out")
    for kind in (Prepared, Sampled, OwnSampler, Changed):
        kind(model=model, args=args, train_dataset=data).train()
