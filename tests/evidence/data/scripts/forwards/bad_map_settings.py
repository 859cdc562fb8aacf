"""A map among settings."""

from transformers import (
    AutoModelForCausalLM,
    BitsAndBytesConfig,
    Trainer,
    TrainingArguments,
)

from data import sets

MODEL_ARGS = dict(
    device_map="auto", quantization_config=BitsAndBytesConfig(load_in_4bit=True)
)


def main():
    model = AutoModelForCausalLM.from_pretrained("mistral", **MODEL_ARGS)  # distkb: script.map-in-every-process
    args = TrainingArguments(
        "out", per_device_train_batch_size=1, ddp_find_unused_parameters=False
    )
    Trainer(model, args, train_dataset=sets()).train()


if __name__ == "__main__":
    main()
