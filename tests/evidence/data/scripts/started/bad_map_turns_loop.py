import torch
from transformers import AutoModelForSequenceClassification


class Run:
    where = "balanced"

    def __init__(self):
        self.model = AutoModelForSequenceClassification.from_pretrained("m", device_map="sequential")  # distkb: script.layers-take-turns
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def fit(self, loader):
        for batch in loader:
            self.model(**batch).loss.backward()
            self.optimizer.step()
