import time

import torch
from tqdm import tqdm


@torch.no_grad()
def rank_all(model, data, chunk=20, k=10):
    """Leave-one-out: where does the held-out item stand among all the items not yet bought?"""
    model.eval()
    t0 = time.time()
    hits = ndcg = 0.0
    for start in tqdm(range(0, data.users, chunk), desc="eval", leave=False, mininterval=1.0):
        u = torch.arange(start, min(start + chunk, data.users))
        cand = torch.arange(data.items).expand(len(u), -1)
        scores = (model.users(u)[:, None] * model.items(cand)).sum(-1)
        scores.scatter_(1, data.history[u], float("-inf"))
        place = (scores > scores.gather(1, data.target[u, None])).sum(1)
        top = place < k
        hits += top.sum().item()
        ndcg += (1 / torch.log2(place[top].float() + 2)).sum().item()
    model.train()
    return {"hit@10": hits / data.users, "ndcg@10": ndcg / data.users, "users": data.users, "seconds": time.time() - t0}
