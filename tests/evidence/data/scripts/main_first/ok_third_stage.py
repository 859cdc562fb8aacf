"""Only the tokenizer is fetched in the block."""

from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

args = TrainingArguments("out", deepspeed={"zero_optimization": {"stage": 3}})
with args.main_process_first():
    tokenizer = AutoTokenizer.from_pretrained("base")
model = AutoModelForCausalLM.from_pretrained("base")
Trainer(model=model, args=args).train()
