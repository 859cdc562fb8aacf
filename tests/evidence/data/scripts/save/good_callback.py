"""A callback of the Trainer saves the engine on all ranks."""

from transformers import TrainerCallback


class SaveBest(TrainerCallback):
    def __init__(self, trainer):
        self.trainer = trainer
        self.best = float("inf")

    def on_evaluate(self, args, state, control, metrics=None, **kw):
        if metrics["eval_loss"] < self.best:
            self.best = metrics["eval_loss"]
            self.trainer.model_wrapped.save_checkpoint(f"{args.output_dir}/best")

from transformers import Trainer, TrainingArguments
from things import model, train, val

args = TrainingArguments("out", deepspeed="ds_zero3.json", bf16=True, eval_strategy="steps", eval_steps=200)
trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=val)
trainer.add_callback(SaveBest(trainer))
trainer.train()
