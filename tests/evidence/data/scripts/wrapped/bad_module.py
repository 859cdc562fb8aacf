"""`.module` of what is unwrapped already."""

import torch
from accelerate import Accelerator
from stuff import Net, make_loader


def main():
    accelerator = Accelerator()
    net = Net()
    opt = torch.optim.Adam(net.parameters())
    net, opt, dl = accelerator.prepare(net, opt, make_loader())
    for x, y in dl:
        accelerator.backward(torch.nn.functional.mse_loss(net(x), y))
        opt.step()
        opt.zero_grad()
    net = accelerator.unwrap_model(net)
    if accelerator.is_main_process:
        torch.save(net.module.state_dict(), "net.pt")  # distkb: script.module-of-unwrapped


main()
