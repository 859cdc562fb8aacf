"""Streams that are divided, and cached, by a hash that every process salts."""

import torch.distributed as dist
from torch.utils.data import IterableDataset


class Articles(IterableDataset):
    def __init__(self, slugs, root):
        self.slugs = slugs
        self.root = root

    def __iter__(self):
        for slug in self.slugs:
            if hash(slug) % dist.get_world_size() == dist.get_rank():  # distkb: script.salted-hash
                yield self.read(slug)

    def read(self, slug):
        return (self.root / f"{hash(slug):x}.npy").read_bytes()  # distkb: script.salted-hash
