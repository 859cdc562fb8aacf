"""Stages, schedules and engines are called as if they were the model."""

import deepspeed
from deepspeed.pipe import LayerSpec, PipelineModule
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe


def run_stage(part, rank, world, device, inputs):
    stage = PipelineStage(part, rank, world, device)
    return stage(inputs)  # distkb: script.pipeline-called


class Runner:
    def __init__(self, part, rank, world, device):
        stage = PipelineStage(part, rank, world, device)
        self.schedule = ScheduleGPipe(stage, n_microbatches=4)

    def forward(self, inputs):
        return self.schedule(inputs)  # distkb: script.pipeline-called


def train_with_deepspeed(args, specs, data):
    net = PipelineModule(layers=[LayerSpec(*spec) for spec in specs], num_stages=2)
    engine, _, loader, _ = deepspeed.initialize(args=args, model=net, training_data=data)
    for batch in loader:
        loss = engine(batch)  # distkb: script.pipeline-called
        engine.backward(loss)  # distkb: script.pipeline-called
        engine.step()  # distkb: script.pipeline-called
