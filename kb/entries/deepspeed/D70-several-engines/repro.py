"""D70: a generator and a critic go to one Accelerator with DeepSpeed, whose engine holds one model.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn

STEPS = 3
WIDTH = 8

log = logging.getLogger("train")


def configuration() -> dict[str, object]:
    """A DeepSpeed configuration of one engine."""
    return {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 1,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
    }


def train(fixed: bool) -> None:
    """A few steps of a small GAN, with its two models in one engine, or in one each."""
    # Imported here, since both read the environment.
    from accelerate import Accelerator
    from accelerate.utils import DeepSpeedPlugin

    torch.manual_seed(0)
    generator, critic = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)
    optimizers = [torch.optim.Adam(model.parameters(), lr=1e-3) for model in (generator, critic)]
    plugins = {name: DeepSpeedPlugin(hf_ds_config=configuration()) for name in ("generator", "critic")}
    if fixed:
        first = Accelerator(deepspeed_plugins=plugins)
        second = Accelerator()
        generator, optimizers[0] = first.prepare(generator, optimizers[0])
        first.state.select_deepspeed_plugin("critic")
        critic, optimizers[1] = second.prepare(critic, optimizers[1])
    else:
        first = second = Accelerator(deepspeed_plugin=plugins["generator"])
        generator, critic, *optimizers = first.prepare(generator, critic, *optimizers)
    torch.manual_seed(1 + int(os.environ["RANK"]))
    for step in range(1, STEPS + 1):
        real, noise = torch.randn(4, WIDTH), torch.randn(4, WIDTH)
        of_critic = critic(generator(noise).detach()).mean() - critic(real).mean()
        second.backward(of_critic)
        optimizers[1].step()
        optimizers[1].zero_grad()
        of_generator = -critic(generator(noise)).mean()
        first.backward(of_generator)
        optimizers[0].step()
        optimizers[0].zero_grad()
        log.info("step %d critic %.4f generator %.4f", step, of_critic.item(), of_generator.item())
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="give each model an engine and an Accelerator of its own")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    os.environ["DS_ACCELERATOR"] = "cpu"
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    train(fixed)


if __name__ == "__main__":
    main()
