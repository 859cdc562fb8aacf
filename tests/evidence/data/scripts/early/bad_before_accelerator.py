import torch
from accelerate import Accelerator, DeepSpeedPlugin
from transformers import AutoModelForSeq2SeqLM


class Job:
    def __init__(self, name):
        self.model = AutoModelForSeq2SeqLM.from_pretrained(name)  # distkb: script.loaded-before-third-stage
        plugin = DeepSpeedPlugin(zero_stage=3, gradient_clipping=1.0)
        self.accelerator = Accelerator(mixed_precision="bf16", deepspeed_plugin=plugin)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5)
        self.model, self.optimizer = self.accelerator.prepare(self.model, optimizer)
