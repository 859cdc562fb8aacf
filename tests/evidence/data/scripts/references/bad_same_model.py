from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer


def main(name, data):
    model = AutoModelForCausalLM.from_pretrained(name)
    reference = model
    trainer = DPOTrainer(model=model, ref_model=reference, args=DPOConfig("out"), train_dataset=data)  # distkb: script.reference-is-policy
    trainer.train()
