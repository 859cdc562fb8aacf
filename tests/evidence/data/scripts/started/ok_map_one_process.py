from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments


def main(data):
    quant = BitsAndBytesConfig(load_in_4bit=True)
    model = AutoModelForCausalLM.from_pretrained("m", quantization_config=quant, device_map={"": 0})
    other = AutoModelForCausalLM.from_pretrained("m", quantization_config=quant, device_map="auto")
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()
    print(other)
