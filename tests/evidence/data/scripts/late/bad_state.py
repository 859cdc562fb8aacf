"""The state is made on the top level."""

from datetime import timedelta

from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.state import PartialState
from net import Net, prepare_all

state = PartialState()


def main():
    accelerator = Accelerator(
        kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(hours=3))]  # distkb: script.timeout-after-group
    )
    with accelerator.main_process_first():
        prepare_all()
    accelerator.prepare(Net())


main()
