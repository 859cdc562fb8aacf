#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
timeout 120 /opt/venv/bin/torchrun --standalone --nproc-per-node 3 train.py --epochs 6
