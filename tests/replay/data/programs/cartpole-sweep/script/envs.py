import numpy as np


class Pole:
    """Batched cart-pole, Euler integration."""

    def __init__(self, n, seed):
        self.rng = np.random.default_rng(seed)
        self.n = n
        self.s = np.zeros((n, 4))
        self.t = np.zeros(n, dtype=int)
        self.reset(np.ones(n, dtype=bool))

    def reset(self, mask):
        self.s[mask] = self.rng.uniform(-0.05, 0.05, (mask.sum(), 4))
        self.t[mask] = 0

    def step(self, a):
        x, xd, th, thd = self.s.T
        f = np.where(a == 1, 10.0, -10.0)
        c, si = np.cos(th), np.sin(th)
        tmp = (f + 0.05 * thd ** 2 * si) / 1.1
        thacc = (9.8 * si - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xacc = tmp - 0.05 * thacc * c / 1.1
        self.s = np.stack([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * thacc], 1)
        self.t += 1
        done = (np.abs(self.s[:, 0]) > 2.4) | (np.abs(self.s[:, 2]) > 0.21) | (self.t >= 200)
        length = self.t[done].copy()
        self.reset(done)
        return self.s.astype(np.float32), done, length
