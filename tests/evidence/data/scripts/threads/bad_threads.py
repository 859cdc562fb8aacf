"""A writer that skips items, and a logger that waits with the lock in its hand."""

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
            if score < self.best:  # distkb: script.item-never-done
                continue
            torch.save(state, "best.pt")
            self.items.task_done()

    def flush(self):
        self.items.join()
        dist.barrier()


class Metrics:
    def __init__(self):
        self.guard = threading.Lock()
        self.rows = queue.Queue(maxsize=8)
        self.written = 0

    def add(self, row):
        with self.guard:
            self.rows.put(row)  # distkb: script.waits-under-lock

    def run(self):
        while True:
            self.rows.get()
            with self.guard:
                self.written += 1
