"""Adam whose moments and fp32 weights live outside of the accelerator: in host memory or in files."""
import math
import os

import numpy as np
import torch


class OffloadAdam:
    def __init__(self, params, lr, where, folder=None, betas=(0.9, 0.95), eps=1e-8):
        self.params = [p for p in params if p.requires_grad]
        self.lr, self.b, self.eps, self.t = lr, betas, eps, 0
        self.where = where
        self.state = []
        if where == "files":
            os.makedirs(folder, exist_ok=True)
        for i, p in enumerate(self.params):
            buf = np.zeros((3, p.numel()), "float32")
            buf[0] = p.detach().float().reshape(-1).numpy()
            if where == "files":
                buf = self.put(os.path.join(folder, f"state{i:03d}"), buf)
            self.state.append(buf)

    @staticmethod
    def put(path, buf):
        for name, row in zip("wmv", buf):
            with open(f"{path}.{name}", "wb") as f:
                f.write(row.tobytes())
                f.flush()
                os.fsync(f.fileno())
        return path

    @staticmethod
    def get(path):
        return np.stack([np.fromfile(f"{path}.{name}", "float32") for name in "wmv"])

    @torch.no_grad()
    def step(self):
        self.t += 1
        c1, c2 = 1 - self.b[0] ** self.t, 1 - self.b[1] ** self.t
        for p, buf in zip(self.params, self.state):
            path = buf
            if self.where == "files":
                buf = self.get(path)
            w, m, v = torch.from_numpy(buf)
            g = p.grad.float().reshape(-1)
            m.lerp_(g, 1 - self.b[0])
            v.mul_(self.b[1]).addcmul_(g, g, value=1 - self.b[1])
            w.addcdiv_(m, (v / c2).sqrt_().add_(self.eps), value=-self.lr / c1)
            p.copy_(w.view_as(p))
            if self.where == "files":
                self.put(path, buf)

    def zero_grad(self):
        for p in self.params:
            p.grad = None
