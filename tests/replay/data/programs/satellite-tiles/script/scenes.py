"""Synthetic Sentinel-like scenes with a land-use mask."""
from dataclasses import dataclass

import numpy as np

BANDS = 4
CLASSES = ["water", "forest", "crops", "urban", "bare"]


@dataclass
class Scene:
    name: str
    rows: int
    cols: int
    seed: int


CATALOG = [
    Scene("T32UNF_20230604", 1536, 1536, 1),
    Scene("T33UUP_20230611", 640, 640, 2),
    Scene("T31TFJ_20230702", 1280, 1024, 3),
    Scene("T32TMT_20230709", 1280, 1536, 4),
    Scene("T30TYN_20230716", 512, 512, 5),
    Scene("T29SND_20230801", 640, 512, 6),
]

SPECTRA = np.array(
    [
        [0.06, 0.05, 0.03, 0.02],
        [0.03, 0.06, 0.04, 0.35],
        [0.06, 0.10, 0.11, 0.28],
        [0.14, 0.15, 0.17, 0.20],
        [0.16, 0.21, 0.27, 0.32],
    ],
    dtype=np.float32,
)


def read_scene(scene):
    rng = np.random.default_rng(scene.seed)
    coarse = rng.integers(0, len(CLASSES), (scene.rows // 64, scene.cols // 64))
    mask = np.kron(coarse, np.ones((64, 64), dtype=np.int64))
    image = SPECTRA[mask] + 0.05 * rng.standard_normal((*mask.shape, BANDS)).astype(np.float32)
    return image.transpose(2, 0, 1), mask
