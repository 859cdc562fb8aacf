"""A thread that says when it has come to its end, and locks in one order."""

import queue
import threading

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

first_lock = threading.Lock()
second_lock = threading.Lock()


class Prefetcher:
    def __init__(self, source):
        self.queue, self.source = queue.Queue(maxsize=4), source
        self.lock = threading.RLock()
        threading.Thread(target=self.fill, daemon=True).start()

    def fill(self):
        try:
            for x in self.source:
                self.queue.put(x)
        finally:
            self.queue.put(None)

    def __iter__(self):
        while True:
            x = self.queue.get()
            if x is None:
                return
            yield x

    def add(self, x):
        with self.lock:
            self.flush(x)

    def flush(self, x):
        with self.lock:
            print(x)


def one():
    with first_lock, second_lock:
        print("one")


def other():
    with first_lock:
        with second_lock:
            print("other")


def main(loader):
    model = DDP(torch.nn.Linear(4, 1))
    for x in Prefetcher(loader):
        model(x).mean().backward()
    one()
    other()
