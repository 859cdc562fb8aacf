"""Writes reviews.jsonl: user, item, stars, text."""
import json
import random
import sys

rng = random.Random(11)
good, bad = "great lovely solid quick bright".split(), "poor broken late dull noisy".split()
taste = {u: rng.random() for u in range(200)}
worth = {i: rng.random() for i in range(150)}
with open(sys.argv[1], "w") as f:
    for _ in range(6000):
        u, i = rng.randrange(200), rng.randrange(150)
        s = 1 + round(4 * min(1, max(0, 0.3 * taste[u] + 0.7 * worth[i] + rng.gauss(0, 0.08))))
        words = [rng.choice(good if rng.random() < (s - 1) / 4 else bad) for _ in range(6)]
        f.write(json.dumps({"user": u, "item": i, "stars": s, "text": " ".join(words)}) + "\n")
