"""The same with Accelerate's flags."""

from accelerate import Accelerator
from data import prepare


class Source:
    def __init__(self):
        self.accelerator = Accelerator()

    def load(self, path):
        if not self.accelerator.is_local_main_process:
            self.accelerator.wait_for_everyone()
        data = prepare(path)
        if self.accelerator.is_main_process:
            self.accelerator.wait_for_everyone()  # distkb: script.gates-of-two-ranks
        return data
