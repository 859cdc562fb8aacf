import trl
from transformers import AutoModelForCausalLM


class Tuner:
    def __init__(self, name):
        self.policy = AutoModelForCausalLM.from_pretrained(name)

    def run(self, data):
        args = trl.KTOConfig(output_dir="out")
        trl.KTOTrainer(self.policy, self.policy, args=args, train_dataset=data).train()  # distkb: script.reference-is-policy
