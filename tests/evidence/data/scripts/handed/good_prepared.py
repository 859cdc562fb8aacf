"""One process saves it."""

from accelerate import Accelerator
import torch
from lib import net, loader


def main():
    accelerator = Accelerator()
    opt = torch.optim.Adam(net.parameters())
    model, optim, dl = accelerator.prepare(net, opt, loader)
    for epoch in range(5):
        for b in dl:
            accelerator.backward(model(b))
            optim.step()
            optim.zero_grad()
        accelerator.unwrap_model(model).save_pretrained("final")
        if accelerator.is_main_process:
            torch.save(optim.state_dict(), "final/optim.bin")


main()
