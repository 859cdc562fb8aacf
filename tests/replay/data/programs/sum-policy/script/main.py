import argparse
import os
from dataclasses import asdict, fields

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from grpo import GRPOTrainer
from policy import SumPolicy
from prompts import SumPrompts
from settings import Settings


def parse():
    ap = argparse.ArgumentParser()
    for f in fields(Settings):
        ap.add_argument("--" + f.name, type=f.type, default=f.default)
    return Settings(**vars(ap.parse_args()))


def main():
    settings = parse()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(settings.seed)
    os.makedirs("logs", exist_ok=True)
    accelerator.print(f"{accelerator.num_processes} processes  {asdict(settings)}")
    dataset = SumPrompts(settings.digits)
    trainer = GRPOTrainer(settings, accelerator, SumPolicy(), dataset)
    trainer.train()
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(trainer.policy).state_dict(), "logs/policy.pt")
    accelerator.print("training finished")
    accelerator.end_training()


if __name__ == "__main__":
    main()
