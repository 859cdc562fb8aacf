import json
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from policy import EOS, sample, token_logps
from prompts import GroupSampler


def reward(answers, targets):
    right = (answers[:, 0] == targets[:, 0]).float()
    ended = (answers[:, 1] == EOS).float()
    near = 1 - (answers[:, 0] - targets[:, 0]).abs().clamp(max=10) / 10
    return right + 0.2 * ended + 0.3 * near


class GRPOTrainer:
    def __init__(self, settings, accelerator, policy, dataset):
        self.s, self.acc = settings, accelerator
        self.policy = policy
        self.optim = torch.optim.Adam(policy.parameters(), lr=settings.lr)
        self.policy, self.optim = accelerator.prepare(policy, self.optim)
        rank, world = accelerator.process_index, accelerator.num_processes
        s = settings
        self.train_loader = DataLoader(dataset, batch_sampler=GroupSampler(
            len(dataset), s.num_generations, s.per_device_batch * s.accumulation, rank, world, s.seed))
        self.eval_loader = DataLoader(dataset, batch_sampler=GroupSampler(
            len(dataset), s.num_generations, s.per_device_eval_batch, rank, world, s.seed,
            shuffle=False, limit=s.eval_prompts))
        self.gen = torch.Generator().manual_seed(s.seed + 100 * rank)
        self.history = open("logs/metrics.jsonl", "w") if accelerator.is_main_process else None

    def write(self, **row):
        if self.history:
            self.history.write(json.dumps(row) + "\n")
            self.history.flush()

    def rollout(self, prompts, targets):
        answers = sample(self.acc.unwrap_model(self.policy), prompts, self.s.answer_len,
                         self.s.temperature, self.gen)
        return answers, reward(answers, targets)

    def group_scores(self, rewards):
        """Rewards of all ranks as one row per prompt."""
        return self.acc.gather(rewards).view(-1, self.s.num_generations)

    def advantages(self, rewards):
        rows = self.group_scores(rewards)
        adv = (rows - rows.mean(1, keepdim=True)) / (rows.std(1, keepdim=True) + 1e-4)
        n = len(rewards)
        start = self.acc.process_index * n
        return adv.flatten()[start:start + n], rows

    def update(self, prompts, targets):
        answers, rewards = self.rollout(prompts, targets)
        adv, rows = self.advantages(rewards)
        with torch.no_grad():
            old = token_logps(self.acc.unwrap_model(self.policy), prompts, answers)
        size = len(prompts) // self.s.accumulation
        self.optim.zero_grad()
        for i in range(0, len(prompts), size):
            part = slice(i, i + size)
            ratio = (token_logps(self.policy, prompts[part], answers[part]) - old[part]).exp()
            a = adv[part, None]
            clipped = ratio.clamp(1 - self.s.clip, 1 + self.s.clip)
            loss = -torch.minimum(ratio * a, clipped * a).mean() / self.s.accumulation
            self.acc.backward(loss)
        self.optim.step()
        return rows

    def evaluate(self, step):
        mean, best, n = 0.0, 0.0, 0
        for prompts, targets in self.eval_loader:
            _, rewards = self.rollout(prompts, targets)
            rows = self.group_scores(rewards)
            mean += rows.mean(1).sum().item()
            best += rows.amax(1).sum().item()
            n += len(rows)
        self.acc.print(f"eval  step {step:3d}  reward {mean / n:.3f}  best of {self.s.num_generations} {best / n:.3f}  prompts {n}")
        self.write(step=step, eval_reward=mean / n, eval_best=best / n)

    def train(self):
        step, started = 0, time.time()
        while step < self.s.updates:
            for prompts, targets in self.train_loader:
                rows = self.update(prompts, targets)
                step += 1
                if step % 5 == 0:
                    self.acc.print(
                        f"step {step:3d}  reward {rows.mean():.3f}  spread {rows.std(1).mean():.3f}  "
                        f"prompts {len(rows)}  answers {rows.numel()}  {time.time() - started:.1f} s")
                    self.write(step=step, reward=rows.mean().item(), spread=rows.std(1).mean().item())
                if step % self.s.eval_every == 0:
                    self.evaluate(step)
                if step == self.s.updates:
                    break
