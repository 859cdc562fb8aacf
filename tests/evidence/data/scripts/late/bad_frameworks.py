"""Another Accelerator, or the Trainer's arguments, have made the group already."""

from datetime import timedelta

from accelerate import Accelerator, InitProcessGroupKwargs
from net import Net, prepare_all


def tokenize_first():
    early = Accelerator()
    early.print("start")
    init = InitProcessGroupKwargs(timeout=timedelta(hours=3))  # distkb: script.timeout-after-group
    accelerator = Accelerator(kwargs_handlers=[init])
    with accelerator.main_process_first():
        prepare_all()
    return accelerator.prepare(Net())
