import pathlib
import queue
import threading

import numpy as np
import torch


class Feed:
    """Reads windows in the background so that the step never waits for the disk."""

    def __init__(self, root, rank, world, window, horizon, batch, epochs, depth=8):
        self.files = sorted(pathlib.Path(root).glob("basin-*.npy"))
        self.mine = self.files[rank::world]
        self.window, self.horizon, self.batch = window, horizon, batch
        self.epochs = epochs
        self.seed = rank
        self.q = queue.Queue(maxsize=depth)
        self.thread = threading.Thread(target=self._fill, name="feed", daemon=True)
        self.thread.start()

    def _windows(self, path, rng):
        a = np.load(path)
        span = self.window + self.horizon
        for s in rng.permutation(len(a) - span):
            yield a[s:s + span]

    def _fill(self):
        rng = np.random.default_rng(self.seed)
        for _ in range(self.epochs):
            for path in self.mine:
                rows = []
                for w in self._windows(path, rng):
                    rows.append(w)
                    if len(rows) == self.batch:
                        t = torch.from_numpy(np.stack(rows))
                        self.q.put((t[:, :self.window], t[:, self.window:, 0]))
                        rows = []

    def next(self):
        return self.q.get()
