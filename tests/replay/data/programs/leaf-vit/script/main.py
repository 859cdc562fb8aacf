import random

import numpy as np
import torch
import yaml
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

from vit import ViT


def leaves(n, classes, seed):
    """Textured 32x32 'leaf' images, one orientation/frequency/colour per class."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 32), torch.linspace(-1, 1, 32), indexing="ij")
    ang = (y.float() / classes * np.pi).view(-1, 1, 1)
    freq = (3 + (y % 4)).float().view(-1, 1, 1)
    ph = 6.28 * torch.rand(n, 1, 1, generator=g)
    tex = torch.sin(freq * 3 * (xx * ang.cos() + yy * ang.sin()) + ph)
    col = torch.stack([(y % 3 == c).float() for c in range(3)], 1).view(n, 3, 1, 1)
    x = tex.unsqueeze(1) * (0.4 + 0.6 * col) + 0.3 * torch.randn(n, 3, 32, 32, generator=g)
    return TensorDataset(x, y)


def main():
    cfg = yaml.safe_load(open("config.yaml"))
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True)
    set_seed(cfg["seed"])
    m, o, d = cfg["model"], cfg["optim"], cfg["data"]
    model = ViT(dim=m["dim"], depth=m["depth"], heads=m["heads"], classes=d["classes"],
                layer_drop=m["layer_drop"], grad_ckpt=m["grad_ckpt"])
    set_seed(cfg["seed"], device_specific=True)

    train = DataLoader(leaves(d["images"], d["classes"], 1), batch_size=d["batch_size"], shuffle=True, drop_last=True)
    val = DataLoader(leaves(192, d["classes"], 2), batch_size=32)
    opt = torch.optim.AdamW(model.parameters(), lr=o["lr"], weight_decay=o["weight_decay"])
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, o["epochs"] * len(train))
    model, opt, train, val, sched = acc.prepare(model, opt, train, val, sched)
    acc.print(f"{acc.num_processes} processes, {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters, "
              f"{len(train)} batches per process")

    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(o["epochs"]):
        model.train()
        bar = tqdm(train, disable=not acc.is_main_process, desc=f"epoch {epoch}", mininterval=1.0)
        for x, y in bar:
            if random.random() < 0.5:
                x = x.flip(-1)
            loss = loss_fn(model(x), y)
            acc.backward(loss)
            acc.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            bar.set_postfix(loss=f"{loss.item():.3f}")

        model.eval()
        hit = n = 0
        with torch.no_grad():
            for x, y in val:
                pred, ref = acc.gather_for_metrics((model(x).argmax(-1), y))
                hit += (pred == ref).sum().item()
                n += len(ref)
        acc.print(f"epoch {epoch} accuracy {hit / n:.4f} lr {sched.get_last_lr()[0]:.2e}")
    acc.wait_for_everyone()
    acc.save(acc.unwrap_model(model).state_dict(), "vit.pt")
    acc.end_training()


if __name__ == "__main__":
    main()
