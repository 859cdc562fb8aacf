import csv
import zlib
from collections import namedtuple

import torch
from torch.utils.data import DataLoader, Dataset

Shard = namedtuple("Shard", "name market rows")


def read_index(path):
    with open(path) as f:
        return [Shard(r["shard"], r["market"], int(r["rows"])) for r in csv.DictReader(f, delimiter="\t")]


class ImpressionShard(Dataset):
    """Impressions of one shard: user, item, clicked."""

    def __init__(self, shard, n_users, n_items):
        g = torch.Generator().manual_seed(zlib.crc32(shard.name.encode()))
        taste = zlib.crc32(shard.market.encode()) % 17
        self.market = shard.market
        self.users = torch.randint(n_users, (shard.rows,), generator=g)
        self.items = torch.randint(n_items, (shard.rows,), generator=g)
        score = ((self.users + taste) % 7 == self.items % 7).float() * 2.5 - 1.0
        self.clicks = torch.bernoulli(torch.sigmoid(score), generator=g)

    def __len__(self):
        return len(self.users)

    def __getitem__(self, i):
        return self.users[i], self.items[i], self.clicks[i]


def loaders_for_rank(shards, rank, world, cfg):
    mine = shards[rank::world]
    return [
        (s.market, DataLoader(ImpressionShard(s, cfg["n_users"], cfg["n_items"]),
                              batch_size=cfg["batch_size"], shuffle=True, drop_last=True))
        for s in mine
    ]
