import torch
from torch.utils.data import Dataset


class Clicks(Dataset):
    """(user, shown article, clicked) triples from a latent-factor model."""

    def __init__(self, n_users, n_items, n_rows, seed):
        g = torch.Generator().manual_seed(seed)
        u = torch.randn(n_users, 8, generator=g)
        v = torch.randn(n_items, 8, generator=g)
        self.user = torch.randint(n_users, (n_rows,), generator=g)
        self.item = torch.randint(n_items, (n_rows,), generator=g)
        score = (u[self.user] * v[self.item]).sum(1)
        self.label = (torch.sigmoid(score) > torch.rand(n_rows, generator=g)).float()

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.user[i], self.item[i], self.label[i]


def held_out(n_users, n_items, per_user, seed):
    g = torch.Generator().manual_seed(seed)
    return {int(u): torch.randint(n_items, (per_user,), generator=g).tolist() for u in range(n_users)}
