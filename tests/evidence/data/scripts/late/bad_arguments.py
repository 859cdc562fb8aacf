"""The Trainer's arguments have made the group already."""

from datetime import timedelta

from accelerate import Accelerator, InitProcessGroupKwargs
from net import Net, prepare_all
from transformers import Trainer, TrainingArguments


def main():
    args = TrainingArguments("out", per_device_train_batch_size=4)
    init = InitProcessGroupKwargs(timeout=timedelta(hours=3))  # distkb: script.timeout-after-group
    accelerator = Accelerator(kwargs_handlers=[init])
    with accelerator.main_process_first():
        data = prepare_all()
    Trainer(Net(), args, train_dataset=data).train()
