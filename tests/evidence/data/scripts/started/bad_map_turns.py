from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(data):
    model = AutoModelForCausalLM.from_pretrained("m", device_map="auto")  # distkb: script.layers-take-turns
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()
