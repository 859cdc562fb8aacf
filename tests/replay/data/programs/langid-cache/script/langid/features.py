"""Turns raw lines into hashed character n-gram ids, and keeps them as one .npz."""
import os
import random
import zlib

import numpy as np

LANGS = {
    "fi": "talo metsä järvi yö kuu sininen hyvää päivää kiitos minä sinä kala joki lumi",
    "de": "haus wald fluss nacht mond blau guten morgen danke ich du fisch schnee straße",
    "fr": "maison forêt rivière nuit lune bleu bonjour merci je tu poisson neige rue été",
    "es": "casa bosque río noche luna azul buenos días gracias yo tú pez nieve calle año",
    "pl": "dom las rzeka noc księżyc niebieski dzień dobry dziękuję ja ty ryba śnieg ulica",
    "nl": "huis bos rivier nacht maan blauw goedemorgen dank ik jij vis sneeuw straat zee",
}


def raw_lines(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        lang = rng.choice(list(LANGS))
        words = LANGS[lang].split()
        text = " ".join(rng.choice(words) for _ in range(rng.randint(2, 5)))
        if rng.random() < 0.5:
            i = rng.randrange(len(text))
            text = text[:i] + rng.choice("abcdefghijklmnop") + text[i + 1:]
        yield lang, text


def ngrams(text, buckets, width):
    t = f" {text} "
    ids = [zlib.crc32(t[i:i + k].encode()) % (buckets - 1) + 1 for k in (1, 2, 3) for i in range(len(t) - k + 1)]
    return (ids + [0] * width)[:width]


def build(path, n, seed, buckets, width):
    names = list(LANGS)
    feats, labels = np.zeros((n, width), np.int32), np.zeros(n, np.int64)
    for i, (lang, text) in enumerate(raw_lines(n, seed)):
        feats[i], labels[i] = ngrams(text, buckets, width), names.index(lang)
    tmp = path + ".tmp"
    with open(tmp, "wb") as f:
        np.savez(f, feats=feats, labels=labels)
        f.flush()
        os.fsync(f.fileno())
    os.replace(tmp, path)
    return os.path.getsize(path)
