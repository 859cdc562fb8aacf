"""Writes a simulated cohort: genotypes 0/1/2 (samples x variants) and one quantitative trait."""
import argparse
import os

import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--out", default="cohort")
p.add_argument("--samples", type=int, default=40000)
p.add_argument("--variants", type=int, default=2000)
a = p.parse_args()

os.makedirs(a.out, exist_ok=True)
rng = np.random.default_rng(8)
maf = rng.uniform(0.05, 0.5, a.variants)
geno = np.lib.format.open_memmap(f"{a.out}/geno.npy", "w+", np.int8, (a.samples, a.variants))
effect = rng.normal(size=a.variants) * (rng.random(a.variants) < 0.05)
trait = np.empty(a.samples, np.float32)
s1 = np.zeros(a.variants)
s2 = np.zeros(a.variants)
for lo in range(0, a.samples, 2000):
    b = rng.binomial(2, maf, (min(2000, a.samples - lo), a.variants)).astype(np.int8)
    geno[lo : lo + len(b)] = b
    f = b.astype(np.float32)
    trait[lo : lo + len(b)] = f @ effect
    s1 += f.sum(0)
    s2 += (f**2).sum(0)
mean = s1 / a.samples
std = np.sqrt(s2 / a.samples - mean**2) + 1e-6
trait = (trait - trait.mean()) / trait.std() + 0.5 * rng.normal(size=a.samples)
np.save(f"{a.out}/trait.npy", trait.astype(np.float32))
np.savez(f"{a.out}/stats.npz", mean=mean.astype(np.float32), std=std.astype(np.float32))
print(f"{a.samples} samples, {a.variants} variants -> {a.out}")
