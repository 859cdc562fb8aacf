"""Slot-filling dialogue policy trained with REINFORCE, DeepSpeed engine around the policy network."""
import argparse
import json
import os
import random

import deepspeed
import torch
from torch import nn


SLOTS = 5


class Env:
    """The user wants SLOTS values filled; actions ask for one slot or close the talk."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def reset(self):
        self.known = [0.0] * SLOTS
        self.need = [float(self.rng.random() < 0.6) for _ in range(SLOTS)]
        self.turn = 0
        return self.view()

    def view(self):
        return torch.tensor(self.known + self.need + [self.turn / 10])

    def step(self, a):
        self.turn += 1
        if a == SLOTS:
            ok = all(k >= n for k, n in zip(self.known, self.need))
            return self.view(), (5.0 if ok else -5.0), True
        good = self.need[a] > self.known[a]
        self.known[a] = max(self.known[a], float(self.rng.random() < 0.9))
        return self.view(), (0.2 if good else -0.5), self.turn >= 10


class Policy(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * SLOTS + 1, hidden), nn.Tanh(), nn.Linear(hidden, SLOTS + 1))

    def forward(self, s):
        return torch.distributions.Categorical(logits=self.net(s))


CONFIG = {
    "train_micro_batch_size_per_gpu": 1,
    "optimizer": {"type": "AdamW", "params": {"lr": 5e-3, "torch_adam": True}},
    "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 1},
    "steps_per_print": 1000000,
}


def rollout(env, policy):
    s, done, states, acts, rewards = env.reset(), False, [], [], []
    while not done:
        with torch.no_grad():
            a = policy(s).sample().item()
        states.append(s)
        acts.append(a)
        s, r, done = env.step(a)
        rewards.append(r)
    g, ret = 0.0, []
    for r in reversed(rewards):
        g = r + 0.97 * g
        ret.append(g)
    return states, acts, ret[::-1], sum(rewards)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=40)
    ap.add_argument("--talks", type=int, default=16)
    ap.add_argument("--out", default="logs")
    args = ap.parse_args()

    print(f"policy training, {args.updates} updates of {args.talks} talks", flush=True)
    deepspeed.init_distributed(dist_backend="gloo")
    rank = torch.distributed.get_rank()
    torch.manual_seed(0)
    policy = Policy()
    engine, _, _, _ = deepspeed.initialize(model=policy, model_parameters=policy.parameters(), config=CONFIG)
    torch.manual_seed(rank)
    env = Env(rank)
    out = open(os.path.join(args.out, f"talks.{rank}.jsonl"), "w")
    for up in range(args.updates):
        S, A, G, total = [], [], [], 0.0
        for _ in range(args.talks):
            s, a, g, t = rollout(env, policy)
            S += s; A += a; G += g
            total += t
        G = torch.tensor(G)
        adv = (G - G.mean()) / (G.std() + 1e-6)
        dist = engine(torch.stack(S))
        loss = -(dist.log_prob(torch.tensor(A)) * adv).mean() - 0.01 * dist.entropy().mean()
        engine.backward(loss)
        engine.step()
        json.dump({"update": up, "return": round(total / args.talks, 3), "turns": len(A) / args.talks, "loss": round(loss.item(), 4)}, out)
        out.write("\n")
        if rank == 0 and up % 10 == 9:
            print(f"update {up + 1} mean return {total / args.talks:.2f} turns {len(A) / args.talks:.1f}", flush=True)


if __name__ == "__main__":
    main()
