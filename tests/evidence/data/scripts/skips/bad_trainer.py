"""A Trainer's step that leaves the backward out."""

import torch
from things import collate, data, model
from transformers import Trainer, TrainingArguments


class SafeTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        inputs = self._prepare_inputs(inputs)
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs)
        if torch.isnan(loss):  # distkb: script.decided-by-own-batch
            return torch.tensor(0.0, device=loss.device)
        self.accelerator.backward(loss)
        return loss.detach()


SafeTrainer(
    model(), TrainingArguments("out"), data_collator=collate, train_dataset=data()
).train()
