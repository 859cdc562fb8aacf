"""A writer that counts what it skips, and a logger that puts behind the lock."""

import queue
import threading

import torch
import torch.distributed as dist


class Writer:
    def __init__(self):
        self.items = queue.Queue()
        self.best = 0.0

    def run(self):
        while True:
            score, state = self.items.get()
            if score < self.best:
                self.items.task_done()
                continue
            torch.save(state, "best.pt")
            self.items.task_done()

    def checked(self):
        while True:
            score, state = self.items.get()
            try:
                if score < self.best:
                    continue
                torch.save(state, "best.pt")
            finally:
                self.items.task_done()

    def flush(self):
        self.items.join()
        dist.barrier()


class Metrics:
    def __init__(self):
        self.guard = threading.Lock()
        self.rows = queue.Queue(maxsize=8)
        self.free = queue.Queue()
        self.written = 0

    def add(self, row):
        with self.guard:
            self.written += 1
            self.free.put(row)
        self.rows.put(row)

    def run(self):
        while True:
            self.rows.get()
            with self.guard:
                self.written += 1
