import math


def rank_all(user_vec, item_vecs):
    scored = [(sum(a * b for a, b in zip(user_vec, w)), i) for i, w in enumerate(item_vecs)]
    scored.sort(reverse=True)
    return [i for _, i in scored]


def ndcg_at(ranked, relevant, k=10):
    rel = set(relevant)
    got = sum(1.0 / math.log2(p + 2) for p, i in enumerate(ranked[:k]) if i in rel)
    best = sum(1.0 / math.log2(p + 2) for p in range(min(k, len(rel))))
    return got / best


def recall_at(ranked, relevant, k=50):
    return len(set(ranked[:k]) & set(relevant)) / len(set(relevant))


def full_catalogue(model, truth):
    users = model.user.weight.detach().tolist()
    items = model.item.weight.detach().tolist()
    ndcg = recall = 0.0
    for u, relevant in truth.items():
        ranked = rank_all(users[u], items)
        ndcg += ndcg_at(ranked, relevant)
        recall += recall_at(ranked, relevant)
    return ndcg / len(truth), recall / len(truth)
