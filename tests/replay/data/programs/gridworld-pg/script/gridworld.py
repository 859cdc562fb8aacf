import torch

MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class GridWorld:
    """A batch of square grids; the agent has to reach the goal cell."""

    def __init__(self, parallel, size, max_steps, generator):
        self.n, self.size, self.max_steps, self.g = parallel, size, max_steps, generator
        self.reset()

    def reset(self):
        self.agent = torch.randint(0, self.size, (self.n, 2), generator=self.g)
        self.goal = torch.randint(0, self.size, (self.n, 2), generator=self.g)
        self.t = 0
        self.done = (self.agent == self.goal).all(-1)
        return self.observe()

    def observe(self):
        return torch.cat([self.agent, self.goal], -1).float() / (self.size - 1) - 0.5

    def step(self, action):
        alive = ~self.done
        nxt = (self.agent + MOVES[action]).clamp(0, self.size - 1)
        self.agent = torch.where(alive[:, None], nxt, self.agent)
        self.t += 1
        arrived = (self.agent == self.goal).all(-1)
        reward = torch.where(alive, torch.where(arrived, 1.0, -0.02), 0.0)
        self.done = self.done | arrived
        return self.observe(), reward, alive
