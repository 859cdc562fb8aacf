from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

CONFIG = {
    "train_micro_batch_size_per_gpu": "auto",
    "zero_optimization": {"stage": 3, "overlap_comm": True},
}


def load(name):
    model = AutoModelForCausalLM.from_pretrained(name)
    model.config.use_cache = False
    return model


def main(name, data):
    model = load(name)  # distkb: script.loaded-before-third-stage
    args = TrainingArguments(output_dir="out", per_device_train_batch_size=1, deepspeed=CONFIG)
    Trainer(model=model, args=args, train_dataset=data).train()
