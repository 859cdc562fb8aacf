import torch
from torch.utils.data import Dataset


class Baskets(Dataset):
    """Implicit feedback from shoppers with a hidden taste; the last purchase is held out."""

    def __init__(self, users=2000, items=800, per_user=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        u = torch.randn(users, 6, generator=g)
        v = torch.randn(items, 6, generator=g)
        score = 1.4 * u @ v.t()
        gumbel = -torch.log(-torch.log(torch.rand(users, items, generator=g).clamp(1e-9, 1 - 1e-7)))
        picks = (score + gumbel).topk(per_user, dim=1).indices
        order = torch.rand(users, per_user, generator=g).argsort(1)
        picks = picks.gather(1, order)
        self.users, self.items = users, items
        self.history, self.target = picks[:, :-1], picks[:, -1]

    def __len__(self):
        return self.history.numel()

    def __getitem__(self, i):
        u, k = divmod(i, self.history.shape[1])
        return u, self.history[u, k], torch.randint(self.items, ()).item()
