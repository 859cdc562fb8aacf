import copy

from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer


def loaded_twice(name, data):
    model = AutoModelForCausalLM.from_pretrained(name)
    reference = AutoModelForCausalLM.from_pretrained(name)
    DPOTrainer(model=model, ref_model=reference, args=DPOConfig("out"), train_dataset=data).train()


def copied(name, data):
    model = AutoModelForCausalLM.from_pretrained(name)
    reference = copy.deepcopy(model)
    DPOTrainer(model, reference, args=DPOConfig("out"), train_dataset=data).train()


def left_out(name, data):
    model = AutoModelForCausalLM.from_pretrained(name)
    DPOTrainer(model=model, ref_model=None, args=DPOConfig("out"), train_dataset=data).train()
