from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments


def main(data):
    quant = BitsAndBytesConfig(load_in_4bit=True)
    model = AutoModelForCausalLM.from_pretrained("m", quantization_config=quant, device_map={"": 0})  # distkb: script.map-to-one-gpu
    args = TrainingArguments("out", ddp_find_unused_parameters=False)
    Trainer(model=model, args=args, train_dataset=data).train()
