import threading

import torch
import torch.distributed as dist


class Meter:
    def __init__(self):
        self.closing = threading.Event()
        self.worker = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.closing.wait(1.0):
            dist.all_reduce(torch.ones(1))  # distkb: script.collective-in-thread


def beat(rank):
    dist.barrier()  # distkb: script.collective-in-thread


def main(rank):
    threading.Thread(target=beat, args=(rank,)).start()
