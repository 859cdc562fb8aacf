"""Subclasses of the Trainer whose training loader nothing divides over the ranks."""

import torch
from torch.utils.data import DataLoader, RandomSampler, WeightedRandomSampler
from transformers import Trainer, TrainingArguments


class Balanced(Trainer):
    def get_train_dataloader(self):
        weights = torch.ones(len(self.train_dataset))
        sampler = WeightedRandomSampler(weights, len(weights))
        loader = DataLoader(self.train_dataset, sampler=sampler)  # distkb: script.train-loader-not-prepared
        return loader


class Shared(Trainer):
    def _loader(self, data, shuffle):
        sampler = RandomSampler(data) if shuffle else None
        return DataLoader(data, sampler=sampler, batch_size=4)  # distkb: script.train-loader-not-prepared


class Inherited(Shared):
    def get_train_dataloader(self):
        return self._loader(self.train_dataset, shuffle=True)


def main(model, data):
    args = TrainingArguments("out")
    Balanced(model=model, args=args, train_dataset=data).train()
    Inherited(model=model, args=args, train_dataset=data).train()
