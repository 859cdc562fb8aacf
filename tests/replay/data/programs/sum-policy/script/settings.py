from dataclasses import dataclass


@dataclass
class Settings:
    digits: int = 5              # prompts are "a b =", both below this
    answer_len: int = 2
    num_generations: int = 16
    per_device_batch: int = 16
    per_device_eval_batch: int = 16
    accumulation: int = 1
    updates: int = 90
    eval_every: int = 30
    eval_prompts: int = 12
    lr: float = 3e-3
    temperature: float = 1.0
    clip: float = 0.2
    seed: int = 21
