"""The first Accelerator is told; a second one comes afterwards, as do the arguments, or the arguments are told."""

from datetime import timedelta

from accelerate import Accelerator, InitProcessGroupKwargs
from net import Net, prepare_all
from transformers import Trainer, TrainingArguments


def main():
    init = InitProcessGroupKwargs(timeout=timedelta(hours=3))
    accelerator = Accelerator(kwargs_handlers=[init])
    args = TrainingArguments("out")
    with accelerator.main_process_first():
        data = prepare_all()
    Trainer(Net(), args, train_dataset=data).train()


def other(handlers):
    args = TrainingArguments("out", ddp_timeout=10800)
    first = Accelerator(kwargs_handlers=handlers)
    second = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(hours=3))])
    return args, first, second
