import os

from accelerate import Accelerator, FullyShardedDataParallelPlugin
from transformers import AutoModelForCausalLM

os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] = "true"
model = AutoModelForCausalLM.from_pretrained("base")  # distkb: script.loaded-before-group
accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2))
model = accelerator.prepare(model)
