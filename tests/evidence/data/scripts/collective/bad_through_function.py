import torch.distributed as dist

from bad_through_function_helpers import Meter, synchronize


class Loop:
    def __init__(self):
        self.meter = Meter()
        self.is_main = dist.get_rank() == 0

    def gather(self):
        synchronize()

    def report(self):
        if self.is_main:
            self.gather()  # distkb: script.collective-on-some-ranks

    def summary(self):
        if not self.is_main:
            return
        self.meter.reduce()  # distkb: script.collective-after-rank-left
