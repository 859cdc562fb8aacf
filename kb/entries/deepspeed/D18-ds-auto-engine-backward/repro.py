"""D18: accumulation is set in the JSON and, to another number, in the arguments.

python repro.py [--fixed]

Accelerate's own DeepSpeedPlugin reads the JSON and compares it with the arguments; DeepSpeed itself is not needed.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate.utils import DeepSpeedPlugin
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, WIDTH = 256, 8
log = logging.getLogger("train")


@dataclass
class Arguments:
    """What the user typed on the command line; accumulation was left at its default."""

    per_device_train_batch_size: int = 4
    gradient_accumulation_steps: int = 1
    learning_rate: float = 0.05
    max_grad_norm: float = 1.0


def user_config(fixed: bool) -> dict[str, object]:
    """Return the user's ds_config.json; "auto" means that the arguments decide."""
    return {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto" if fixed else 4,
        "gradient_accumulation_steps": "auto" if fixed else 8,
        "gradient_clipping": "auto" if fixed else 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": "auto"}},
        "zero_optimization": {"stage": 2},
    }


def settle(path: Path, args: Arguments, world_size: int) -> dict[str, object]:
    """Compare the file with the arguments and fill "auto" in, as the integrations do before deepspeed.initialize."""
    plugin = DeepSpeedPlugin(hf_ds_config=str(path))
    micro, steps = args.per_device_train_batch_size, args.gradient_accumulation_steps
    plugin.deepspeed_config_process(
        **{
            "train_micro_batch_size_per_gpu": micro,
            "gradient_accumulation_steps": steps,
            "train_batch_size": micro * steps * world_size,
            "gradient_clipping": args.max_grad_norm,
            "optimizer.params.lr": args.learning_rate,
        }
    )
    return plugin.deepspeed_config


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help='write "auto" in the JSON')
    fixed = parser.parse_args().fixed
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [rank0] %(levelname)s %(message)s", stream=sys.stderr)
    torch.set_num_threads(1)
    path = Path("ds_config.json")
    path.write_text(json.dumps(user_config(fixed), indent=2))

    # The arguments of the run that was meant: 4 samples a GPU, 8 micro batches a step.
    args = Arguments(gradient_accumulation_steps=8) if fixed else Arguments()
    config = settle(path, args, world_size=1)
    micro, steps = int(config["train_micro_batch_size_per_gpu"]), int(config["gradient_accumulation_steps"])
    log.info("train batch %s = %d x %d", config["train_batch_size"], micro, steps)

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(SAMPLES, WIDTH)), batch_size=micro)
    model = nn.Linear(WIDTH, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["optimizer"]["params"]["lr"])
    updates = 0
    for number, (inputs,) in enumerate(loader, start=1):
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)) / steps
        loss.backward()
        if number % steps == 0:
            nn.utils.clip_grad_norm_(model.parameters(), config["gradient_clipping"])
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
            log.info("step %d loss %.4f", updates, loss.item() * steps)
    assert updates == SAMPLES // (micro * steps), (
        "another number of optimizer steps than samples / (micro x accumulation)"
    )
    log.info("%d optimizer steps in this epoch", updates)


if __name__ == "__main__":
    main()
