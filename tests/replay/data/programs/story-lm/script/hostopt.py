"""AdamW whose fp32 weights and moments live in host memory, so the accelerator only holds weights and gradients."""
import torch


class HostAdamW:
    def __init__(self, params, lr, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1):
        self.params = [p for p in params if p.requires_grad]
        self.lr, self.betas, self.eps, self.weight_decay = lr, betas, eps, weight_decay
        self.t = 0
        pin = torch.cuda.is_available()
        self.state = []
        for p in self.params:
            master = p.detach().to("cpu", torch.float32, copy=True)
            m, v = torch.zeros_like(master), torch.zeros_like(master)
            self.state.append([x.pin_memory() if pin else x for x in (master, m, v)])

    def size_mb(self):
        return sum(x.numel() * x.element_size() for s in self.state for x in s) / 2**20

    @torch.no_grad()
    def step(self):
        self.t += 1
        b1, b2 = self.betas
        c1, c2 = 1 - b1 ** self.t, 1 - b2 ** self.t
        for p, (master, m, v) in zip(self.params, self.state):
            g = p.grad.to("cpu", torch.float32)
            m.lerp_(g, 1 - b1)
            v.mul_(b2).addcmul_(g, g, value=1 - b2)
            if master.dim() > 1:
                master.mul_(1 - self.lr * self.weight_decay)
            master.addcdiv_(m, (v / c2).sqrt_().add_(self.eps), value=-self.lr / c1)
            p.copy_(master)

    def zero_grad(self):
        for p in self.params:
            if p.grad is not None:
                p.grad.zero_()
