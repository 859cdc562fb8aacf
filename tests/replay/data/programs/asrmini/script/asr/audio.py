"""Clip reading and features. Clips are raw 16-bit PCM, 8 kHz, with a transcript beside them."""
import os

import numpy as np
import torch

ALPHABET = " abcdefghijklmnopqrstuvwxyz'"
FRAME, HOP, BINS = 200, 80, 32


def read_clip(path):
    pcm = np.fromfile(path, dtype=np.int16)
    return pcm.astype(np.float32) / 32768.0


def features(pcm):
    frames = np.lib.stride_tricks.sliding_window_view(pcm, FRAME)[::HOP]
    spec = np.abs(np.fft.rfft(frames * np.hanning(FRAME), axis=1))[:, :BINS]
    return torch.from_numpy(np.log1p(spec)).float()


def encode(text):
    return torch.tensor([ALPHABET.index(c) + 1 for c in text], dtype=torch.long)


def load_utt(root, utt):
    with open(os.path.join(root, utt + ".txt")) as f:
        text = f.read().strip()
    return features(read_clip(os.path.join(root, utt + ".raw"))), encode(text)
