from collections import defaultdict

import lightning as L
import torch


class Reviews(L.LightningModule):
    def on_validation_epoch_start(self):
        self.hits = defaultdict(list)

    def validation_step(self, batch, batch_idx):
        words, labels, kinds = batch
        right = (self(words).argmax(-1) == labels).float()
        for kind, hit in zip(kinds.tolist(), right):
            self.hits[kind].append(hit)

    def on_validation_epoch_end(self):
        for kind, hits in self.hits.items():  # distkb: script.own-calls-by-own-batch
            self.log(f"val/{kind}", torch.stack(hits).mean(), sync_dist=True)
