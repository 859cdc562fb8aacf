import json
import os
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from scenes import make_site
from tasks import DriveNet, TaskBalance


def main(settings_path):
    with open(settings_path) as fh:
        cfg = json.load(fh)
    acc = Accelerator(cpu=True)
    set_seed(cfg["seed"])
    out = open(f"logs/events_{acc.process_index}.jsonl", "w")

    def emit(**kw):
        out.write(json.dumps(kw) + "\n")
        out.flush()

    # each process drives through the recordings of its own site
    site = cfg["sites"][acc.process_index % len(cfg["sites"])]
    data = TensorDataset(*make_site(site, cfg["frames_per_site"], seed=cfg["seed"] + acc.process_index))
    loader = DataLoader(data, batch_size=cfg["batch"], shuffle=True, drop_last=True)

    net, balance = DriveNet(), TaskBalance()
    opt = torch.optim.Adam(
        [
            {"params": net.parameters(), "lr": cfg["lr"]},
            {"params": balance.parameters(), "lr": cfg["lr_tasks"]},
        ]
    )
    net, opt = acc.prepare(net, opt)
    emit(event="start", world=acc.num_processes, site=site, frames=len(data), batches=len(loader))

    for epoch in range(cfg["epochs"]):
        sums, n = torch.zeros(3), 0
        for beams, steer, dist, lane in loader:
            total, parts = balance(net(beams), (steer, dist, lane))
            acc.backward(total)
            opt.step()
            opt.zero_grad()
            sums += parts
            n += 1
        check = sum(p.double().sum().item() for p in net.parameters())
        emit(
            event="epoch", epoch=epoch, total=round(total.item(), 4),
            **{k: round(v, 4) for k, v in zip(balance.names, (sums / n).tolist())},
            weight=balance.weights(), net_sum=round(check, 6),
        )
        mean = acc.reduce(sums / n, reduction="mean")
        acc.print(f"epoch {epoch:2d} steer {mean[0]:.4f} dist {mean[1]:.4f} lane {mean[2]:.4f}")

    acc.wait_for_everyone()
    if acc.is_main_process:
        state = {"net": acc.unwrap_model(net).state_dict(), "balance": balance.state_dict()}
        torch.save(state, "drivenet.pt")
        emit(event="saved", file="drivenet.pt", bytes=os.path.getsize("drivenet.pt"))
    acc.end_training()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "settings.json")
