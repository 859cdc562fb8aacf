import math
import random


class Pendulum:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.reset()

    def reset(self):
        self.th = self.rng.uniform(-math.pi, math.pi)
        self.w = self.rng.uniform(-1, 1)
        self.t = 0
        return self.obs()

    def obs(self):
        return [math.cos(self.th), math.sin(self.th), self.w]

    def step(self, u):
        cost = self.th ** 2 + 0.1 * self.w ** 2 + 0.001 * u ** 2
        self.w += 0.05 * (15 * math.sin(self.th) + 3 * u)
        self.w = max(-8, min(8, self.w))
        self.th = (self.th + 0.05 * self.w + math.pi) % (2 * math.pi) - math.pi
        self.t += 1
        return self.obs(), -cost, self.t >= 100


def actor_loop(idx, seed, inbox, outbox):
    env = Pendulum(seed)
    outbox.put((idx, env.obs(), 0.0, False))
    while True:
        u = inbox.get()
        if u is None:
            return
        obs, r, done = env.step(u)
        if done:
            obs = env.reset()
        outbox.put((idx, obs, r, done))
