"""Two models in one `prepare`."""

import torch
from accelerate import Accelerator
from accelerate.utils import DeepSpeedPlugin
from lib import Student, Teacher, loader


class Distill:
    def __init__(self):
        self.accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(zero_stage=2))
        self.teacher, self.student = Teacher(), Student()
        self.opt = torch.optim.AdamW(self.student.parameters())
        self.teacher, self.student, self.opt, self.dl = self.accelerator.prepare(  # distkb: script.two-models-one-engine
            self.teacher, self.student, self.opt, loader()
        )

    def run(self):
        for x in self.dl:
            with torch.no_grad():
                t = self.teacher(x)
            self.accelerator.backward(((self.student(x) - t) ** 2).mean())
            self.opt.step()


Distill().run()
