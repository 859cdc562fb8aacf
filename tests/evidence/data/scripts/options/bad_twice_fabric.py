import argparse

import torch
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision
from lightning.fabric.strategies import DDPStrategy


def build(args):
    plugins = [MixedPrecision("bf16-mixed", device="cuda")]
    strategy = DDPStrategy(process_group_backend="nccl")
    return Fabric(devices=args.devices, strategy=strategy, precision="bf16-mixed", plugins=plugins)  # distkb: script.option-given-twice


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=4)
    fabric = build(parser.parse_args())
    fabric.launch()
    model = fabric.setup(torch.nn.Linear(8, 8))
    print(model)


if __name__ == "__main__":
    main()
