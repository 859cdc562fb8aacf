"""Stand-in for the UCI download: 54 features would be too many, 12 are enough here."""
import os
import sys

import numpy as np

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
rng = np.random.default_rng(581)
n, k = 24000, 7
cover = rng.choice(k, n, p=[0.30, 0.32, 0.12, 0.06, 0.06, 0.07, 0.07])
centre = rng.normal(0, 1.2, (k, 12))
x = centre[cover] + rng.normal(0, 1.0, (n, 12))
x = x * rng.uniform(0.5, 400, 12) + rng.uniform(0, 3000, 12)
np.save(os.path.join(out, "features.npy"), x.astype(np.float32))
np.save(os.path.join(out, "cover_type.npy"), (cover + 1).astype(np.int64))
print("covertype:", x.shape, "classes", np.unique(cover + 1).tolist())
