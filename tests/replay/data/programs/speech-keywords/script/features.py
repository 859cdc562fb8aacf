"""Log-mel features of the keyword clips, computed once and kept in cache/."""
import hashlib
import json
import logging
import pathlib
import time

import numpy as np
from filelock import FileLock

logger = logging.getLogger("features")
SR = 16000
WORDS = ["yes", "no", "up", "down", "left", "right", "on", "off"]


def clip(i):
    """Stand-in for reading the wav: a few sweeping tones and noise, as the word asks."""
    rng = np.random.default_rng(i)
    y = i % len(WORDS)
    t = np.arange(SR) / SR
    f = 300 + 170 * y + rng.normal(0, 20)
    x = np.sin(2 * np.pi * f * t) + 0.5 * np.sin(2 * np.pi * (2.1 * f + 60 * y * t) * t)
    return (x + rng.normal(0, 1.2, SR)).astype("float32"), y


def mel_bank(n_fft=1024, n_mels=64):
    hz = lambda m: 700 * (10 ** (m / 2595) - 1)
    pts = hz(np.linspace(0, 2595 * np.log10(1 + SR / 2 / 700), n_mels + 2))
    bins = np.floor((n_fft + 1) * pts / SR).astype(int)
    fb = np.zeros((n_mels, n_fft // 2 + 1), "float32")
    for m in range(1, n_mels + 1):
        a, b, c = bins[m - 1 : m + 2]
        fb[m - 1, a:b] = (np.arange(a, b) - a) / max(1, b - a)
        fb[m - 1, b:c] = (c - np.arange(b, c)) / max(1, c - b)
    return fb


def logmel(x, fb, n_fft=1024, hop=80):
    w = np.hanning(n_fft)
    frames = np.lib.stride_tricks.sliding_window_view(x, n_fft)[::hop]
    p = np.abs(np.fft.rfft(frames * w, axis=1)) ** 2
    return np.log(p @ fb.T + 1e-6)


def build(path, n):
    fb = mel_bank()
    feats, labels = [], []
    t0 = time.time()
    for i in range(n):
        x, y = clip(i)
        f = logmel(x, fb)
        f = f[: len(f) // 4 * 4].reshape(-1, 4, f.shape[1]).mean(1)
        feats.append(f)
        labels.append(y)
        if (i + 1) % 250 == 0:
            logger.info("extracted %d/%d clips (%.0f s)", i + 1, n, time.time() - t0)
    np.savez(path, x=np.stack(feats).astype("float32"), y=np.array(labels))


def load(cache_dir, n):
    cache = pathlib.Path(cache_dir)
    cache.mkdir(exist_ok=True)
    key = hashlib.md5(json.dumps(["logmel64", 1024, 80, n]).encode()).hexdigest()[:10]
    path = cache / f"keywords-{key}.npz"
    logger.info("features: %s", path)
    with FileLock(cache / "keywords.lock").acquire(poll_interval=5):
        if not path.exists():
            logger.info("extracting features of %d clips", n)
            build(path, n)
    z = np.load(path)
    logger.info("features ready: x %s", z["x"].shape)
    return z["x"], z["y"]
