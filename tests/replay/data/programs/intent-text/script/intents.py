import random

import torch
from torch.utils.data import Dataset

LABELS = ["book_flight", "cancel", "weather", "play_music", "set_alarm", "smalltalk"]
_KEY = {
    "book_flight": "fly flight ticket airport book seat travel".split(),
    "cancel": "cancel stop undo remove forget never drop".split(),
    "weather": "rain sunny weather cold forecast wind degrees".split(),
    "play_music": "play song album artist volume track music".split(),
    "set_alarm": "wake alarm morning remind seven clock early".split(),
    "smalltalk": "hello how thanks nice you fine bye".split(),
}
_FILL = "please could the a to me for my in on is it tomorrow today and i want that".split()
VOCAB = {w: i + 1 for i, w in enumerate(sorted({w for ws in _KEY.values() for w in ws} | set(_FILL)))}


def utterances(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        y = rng.choices(range(len(LABELS)), weights=[6, 1, 5, 4, 3, 2])[0]
        words = rng.choices(_FILL, k=rng.randint(3, 8)) + rng.choices(_KEY[LABELS[y]], k=rng.randint(1, 2))
        other = rng.choice(LABELS)
        words += rng.choices(_KEY[other], k=rng.randint(0, 2))
        rng.shuffle(words)
        rows.append((" ".join(words), y))
    # the dev file is kept sorted by length, as it came from the annotators
    rows.sort(key=lambda r: len(r[0].split()))
    return rows


class Utterances(Dataset):
    def __init__(self, n, seed, width=16):
        self.rows, self.width = utterances(n, seed), width

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, y = self.rows[i]
        ids = [VOCAB[w] for w in text.split()][: self.width]
        return torch.tensor(ids + [0] * (self.width - len(ids))), y
