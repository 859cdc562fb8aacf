import torch


def sessions(items, history, batch, seed):
    """Endless batches of click histories; the next click depends on the last ones."""
    g = torch.Generator().manual_seed(seed)
    jump = torch.randint(items, (items,), generator=torch.Generator().manual_seed(0))
    while True:
        h = [torch.randint(items, (batch,), generator=g)]
        for _ in range(history):
            stay = torch.rand(batch, generator=g) < 0.8
            h.append(torch.where(stay, jump[h[-1]], torch.randint(items, (batch,), generator=g)))
        h = torch.stack(h, 1)
        yield h[:, :history], h[:, history]
