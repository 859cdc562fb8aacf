from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


def main(name, data):
    tokenizer = AutoTokenizer.from_pretrained(name)
    args = TrainingArguments(output_dir="out", deepspeed="configs/zero3.json")
    model = AutoModelForCausalLM.from_pretrained(name)
    Trainer(model=model, args=args, train_dataset=data.map(tokenizer)).train()


def with_second_stage(name, data):
    model = AutoModelForCausalLM.from_pretrained(name)
    args = TrainingArguments(output_dir="out", deepspeed="configs/zero2.json")
    Trainer(model=model, args=args, train_dataset=data).train()
