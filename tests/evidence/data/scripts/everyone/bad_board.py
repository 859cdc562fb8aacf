import torch
import wandb
from accelerate import Accelerator
from torch.utils.tensorboard import SummaryWriter


def main(loader):
    accelerator = Accelerator()
    wandb.init(project="speech")  # distkb: script.tracker-on-every-rank
    writer = SummaryWriter("runs/speech")  # distkb: script.tracker-on-every-rank
    model, loader = accelerator.prepare(torch.nn.Linear(2, 1), loader)
    for step, batch in enumerate(loader):
        writer.add_scalar("loss", model(batch).mean().item(), step)


if __name__ == "__main__":
    main([])
