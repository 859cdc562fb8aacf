"""A model is loaded in the block of the main process although stage 3 divides it while it loads."""

from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

STAGE = {"zero_optimization": {"stage": 3}}


def load(name):
    return AutoModelForCausalLM.from_pretrained(name)


args = TrainingArguments("out", deepspeed=STAGE)
with args.main_process_first():
    tokenizer = AutoTokenizer.from_pretrained("base")
    model = load("base")  # distkb: script.collective-in-main-first
Trainer(model=model, args=args).train()
