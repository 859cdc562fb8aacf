import torch


class GridWorld:
    """n parallel 6x6 grids; reach the goal; reward 1 - 0.02 * steps."""

    def __init__(self, n, seed, size=6, limit=24):
        self.n, self.size, self.limit = n, size, limit
        self.g = torch.Generator().manual_seed(seed)
        self.moves = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])
        self.pos, self.goal = self._cells(n), self._cells(n)
        self.t = torch.zeros(n)

    def _cells(self, n):
        return torch.randint(self.size, (n, 2), generator=self.g)

    def obs(self):
        return torch.cat([self.pos, self.goal, self.goal - self.pos], 1).float() / self.size

    def step(self, a):
        self.pos = (self.pos + self.moves[a]).clamp(0, self.size - 1)
        self.t += 1
        hit = (self.pos == self.goal).all(1)
        done = hit | (self.t >= self.limit)
        reward = torch.where(hit, 1 - 0.02 * self.t, torch.zeros(self.n))
        k = int(done.sum())
        self.pos[done], self.goal[done], self.t[done] = self._cells(k), self._cells(k), 0
        return self.obs(), reward, done.float()
