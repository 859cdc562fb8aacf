"""A Trainer's loss that unwraps."""

import torch
import torch.nn.functional as F
from things import data, make_model
from transformers import Trainer, TrainingArguments


class Contrastive(Trainer):
    def compute_loss(
        self, model, inputs, return_outputs=False, num_items_in_batch=None
    ):
        core = model.module if hasattr(model, "module") else model
        q = core.encode(inputs["query_ids"])  # distkb: script.forward-past-ddp
        d = core.encode(inputs["doc_ids"])
        scores = q @ d.T
        loss = F.cross_entropy(scores, torch.arange(len(q), device=q.device))
        return (loss, scores) if return_outputs else loss


Contrastive(make_model(), TrainingArguments("out"), train_dataset=data()).train()
