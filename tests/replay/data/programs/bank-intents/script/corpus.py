"""Reading the helpdesk export and turning it into tensors."""
import csv
import re
from pathlib import Path

import torch
from torch.utils.data import Dataset

TOKEN = re.compile(r"[a-z']+")


def tokenize(text):
    return TOKEN.findall(text.lower())


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as fh:
        return [(r["utterance"], r["intent"]) for r in csv.DictReader(fh)]


def build_vocab(rows):
    vocab = {"<pad>": 0, "<unk>": 1}
    for text, _ in rows:
        for tok in tokenize(text):
            vocab.setdefault(tok, len(vocab))
    return vocab


def build_label_map(rows):
    intents = {intent for _, intent in rows}
    return {name: i for i, name in enumerate(intents)}


class Utterances(Dataset):
    def __init__(self, rows, vocab, label2id, max_len):
        self.x = torch.zeros(len(rows), max_len, dtype=torch.long)
        self.y = torch.zeros(len(rows), dtype=torch.long)
        for i, (text, intent) in enumerate(rows):
            ids = [vocab.get(t, 1) for t in tokenize(text)][:max_len]
            self.x[i, : len(ids)] = torch.tensor(ids)
            self.y[i] = label2id[intent]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def load(data_dir, max_len):
    data_dir = Path(data_dir)
    train, dev = read_rows(data_dir / "train.csv"), read_rows(data_dir / "dev.csv")
    vocab = build_vocab(train)
    label2id = build_label_map(train)
    return (
        Utterances(train, vocab, label2id, max_len),
        Utterances(dev, vocab, label2id, max_len),
        vocab,
        label2id,
    )
