import torch


def batches(cfg, rank, epoch):
    proto = torch.randn(cfg.words, cfg.mels, 1, generator=torch.Generator().manual_seed(1))
    g = torch.Generator().manual_seed(1000 * epoch + rank)
    for _ in range(cfg.steps):
        y = torch.randint(0, cfg.words, (cfg.batch,), generator=g)
        yield proto[y] + 1.5 * torch.randn(cfg.batch, cfg.mels, cfg.frames, generator=g), y
