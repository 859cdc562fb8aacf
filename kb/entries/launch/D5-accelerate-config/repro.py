"""`accelerate launch` with a config file that holds a word of another launcher: `nproc_per_node`.

Run it as it stands for the failure, with `--fixed` for the repaired form: Accelerate's own key, `num_processes`.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
num_machines: 1
{key}: 2
main_process_port: 0
mixed_precision: 'no'
use_cpu: true
"""


def train() -> None:
    import torch
    from accelerate import Accelerator

    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    form = f"%(asctime)s [rank{accelerator.process_index}] %(levelname)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.05))
    batch = torch.randn(32, 16)
    for step in range(4):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        logging.info("step %d loss %.4f num_processes %d", step, loss.item(), accelerator.num_processes)
    torch.distributed.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    accelerator.end_training()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        train()
        return 0

    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "accelerate.yaml"
        config.write_text(CONFIG.format(key="num_processes" if args.fixed else "nproc_per_node"))
        command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(config)]
        # No default_config.yaml of this machine may mix in.
        home = {**os.environ, "HF_HOME": folder}
        return subprocess.run([*command, __file__, "--train"], env=home, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
