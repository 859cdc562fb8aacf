import os
import shutil

import numpy as np
import torch
from torch.utils.data import Dataset

from scenes import BANDS, CLASSES, read_scene

TILE = 32


def smooth(img, passes=12):
    for _ in range(passes):
        p = np.pad(img, ((0, 0), (1, 1), (1, 1)), mode="edge")
        img = (p[:, :-2, 1:-1] + p[:, 2:, 1:-1] + p[:, 1:-1, :-2] + p[:, 1:-1, 2:] + 4 * img) / 8
    return img


def cut(scene):
    image, mask = read_scene(scene)
    image = smooth(image)
    tiles, labels = [], []
    for r in range(0, scene.rows - TILE + 1, TILE):
        for c in range(0, scene.cols - TILE + 1, TILE):
            t = image[:, r : r + TILE, c : c + TILE]
            tiles.append((t - t.mean()) / (t.std() + 1e-6))
            labels.append(np.bincount(mask[r : r + TILE, c : c + TILE].ravel(), minlength=len(CLASSES)).argmax())
    return np.stack(tiles).astype(np.float32), np.array(labels)


class TileWriter:
    """Writes one part of the tile cache."""

    def __init__(self, root, part):
        self.path = os.path.join(root, f"part-{part:02d}.npz")
        if os.path.isdir(root):
            shutil.rmtree(root)
        os.makedirs(root)

    def write(self, tiles, labels):
        np.savez(self.path, tiles=tiles, labels=labels)
        return self.path


class TileDataset(Dataset):
    def __init__(self, root, parts):
        tiles, labels = [], []
        for i in range(parts):
            with np.load(os.path.join(root, f"part-{i:02d}.npz")) as z:
                tiles.append(z["tiles"])
                labels.append(z["labels"])
        self.tiles = torch.from_numpy(np.concatenate(tiles))
        self.labels = torch.from_numpy(np.concatenate(labels))
        assert self.tiles.shape[1] == BANDS

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.tiles[i], self.labels[i]
