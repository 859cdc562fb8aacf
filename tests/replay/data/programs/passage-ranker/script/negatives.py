import math
from collections import Counter


class Bm25:
    """Plain in-memory BM25 over the passage collection."""

    def __init__(self, passages, k1=0.9, b=0.4):
        self.k1, self.b = k1, b
        self.tf = [Counter(p) for p in passages]
        self.len = [len(p) for p in passages]
        self.avg = sum(self.len) / len(self.len)
        df = Counter(w for tf in self.tf for w in tf)
        n = len(passages)
        self.idf = {w: math.log(1 + (n - c + 0.5) / (c + 0.5)) for w, c in df.items()}

    def top(self, query, k):
        scores = []
        for i, tf in enumerate(self.tf):
            s = 0.0
            norm = self.k1 * (1 - self.b + self.b * self.len[i] / self.avg)
            for w in query:
                f = tf.get(w)
                if f:
                    s += self.idf[w] * f * (self.k1 + 1) / (f + norm)
            scores.append((s, i))
        scores.sort(reverse=True)
        return [i for _, i in scores[:k]]


def mine(passages, queries, positives, k, report):
    index = Bm25(passages)
    hard = []
    for n, (q, pos) in enumerate(zip(queries, positives), 1):
        hard.append([i for i in index.top(q, k + 1) if i != pos][:k])
        if n % 300 == 0:
            report(f"mined {n}/{len(queries)} queries")
    return hard
