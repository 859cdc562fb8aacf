#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
TR="torchrun --standalone"
mkdir -p logs; rm -rf ckpt logs/metrics.jsonl
# first half on the big node, rest on the small one
$TR --nproc_per_node=4 train.py --until 400
$TR --nproc_per_node=2 train.py --until 600 --resume
