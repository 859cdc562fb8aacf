"""The pooler of a pretrained encoder."""

import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import BertModel
from lib import loader


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel.from_pretrained("bert-base-uncased")  # distkb: script.pooler-unused
        self.head = torch.nn.Linear(768, 2)

    def forward(self, ids, mask):
        h = self.bert(ids, attention_mask=mask).last_hidden_state[:, 0]
        return self.head(h)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    m = DDP(Encoder().cuda())
    opt = torch.optim.AdamW(m.parameters(), 2e-5)
    for ids, mask, y in loader():
        loss = torch.nn.functional.cross_entropy(m(ids.cuda(), mask.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()


main()
