"""Accelerate on CPU: prepare, gradient accumulation, gather_for_metrics and save_state on every process."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    """One epoch with everything the accelerate examples do."""
    import logging

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
    log = get_logger("train", log_level="INFO")
    log.info("%s", accelerator.state, main_process_only=False)
    set_seed(1)
    data = TensorDataset(torch.randn(130, 8), torch.randn(130, 1))
    model, loader = nn.Linear(8, 1), DataLoader(data, batch_size=8, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    for step, (x, y) in enumerate(loader):
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        if step % 2 == 0:
            log.info("step %d, loss %.4f", step, accelerator.gather_for_metrics(loss.detach()).mean().item())
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(f"{folder}/{accelerator.process_index}")
    accelerator.wait_for_everyone()
    log.info("done")
    accelerator.end_training()


if __name__ == "__main__":
    main()
