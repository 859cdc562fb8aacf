"""Small cart-pole so that we do not depend on gym on the login nodes."""
import math
import random


class CartPole:
    obs_dim, n_actions = 4, 2

    def __init__(self, seed=0, horizon=200):
        self.rng = random.Random(seed)
        self.horizon = horizon
        self.reset()

    def reset(self):
        self.s = [self.rng.uniform(-0.05, 0.05) for _ in range(4)]
        self.t = 0
        return list(self.s)

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * w * w * s) / 1.1
        acc = (9.8 * s - c * tmp) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))
        xacc = tmp - 0.05 * acc * c / 1.1
        self.s = [x + 0.02 * v, v + 0.02 * xacc, th + 0.02 * w, w + 0.02 * acc]
        self.t += 1
        out = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095
        return list(self.s), 1.0, out or self.t >= self.horizon
