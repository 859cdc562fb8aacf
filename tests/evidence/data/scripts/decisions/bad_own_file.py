import json

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.rows = [json.loads(line) for line in file]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.tensor(self.rows[index]["features"])


class Tester:
    def __init__(self, model, folder):
        self.rank = dist.get_rank()
        self.model = DDP(model)
        self.loader = DataLoader(Lines(f"{folder}/test-{self.rank}.jsonl"), batch_size=16)

    @torch.no_grad()
    def run(self):
        scores = []
        for batch in self.loader:  # distkb: script.evaluated-by-own-part
            out = self.model.module(batch)
            parts = [torch.empty_like(out) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, out)
            scores += parts
        return torch.cat(scores)


def main(folder):
    dist.init_process_group("gloo")
    Tester(torch.nn.Linear(4, 1), folder).run()
