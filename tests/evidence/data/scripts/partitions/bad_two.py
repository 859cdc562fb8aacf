"""Two optimizers in one `prepare`."""

import torch
from accelerate import Accelerator, DeepSpeedPlugin
from net import Critic, Generator, loader


def main():
    accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(zero_stage=2))
    gen, critic = Generator(), Critic()
    g_opt = torch.optim.Adam(gen.parameters())
    c_opt = torch.optim.Adam(critic.parameters())
    gen, critic, g_opt, c_opt, dl = accelerator.prepare(  # distkb: script.two-models-one-engine
        gen, critic, g_opt, c_opt, loader()
    )
    for x in dl:
        accelerator.backward(critic(x).mean())
        c_opt.step()
        accelerator.backward(-critic(gen(x)).mean())
        g_opt.step()


main()
