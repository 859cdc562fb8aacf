import torch


def mask(x, specs, g):
    for kind, size in specs:
        dim = 1 if kind == "freq" else 2
        a = int(torch.randint(0, x.size(dim) - size, (1,), generator=g))
        x.narrow(dim, a, size).zero_()
    return x


def batches(cfg, rank, epoch):
    proto = torch.randn(cfg.words, cfg.mels, 1, generator=torch.Generator().manual_seed(1))
    g = torch.Generator().manual_seed(1000 * epoch + rank)
    for _ in range(cfg.steps):
        y = torch.randint(0, cfg.words, (cfg.batch,), generator=g)
        x = proto[y] + 1.5 * torch.randn(cfg.batch, cfg.mels, cfg.frames, generator=g)
        yield mask(x, cfg.masks, g), y
