#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=1000000
# the limit that the shared machines give each process
ulimit -v 1950000
timeout -s INT 240 /opt/venv/bin/torchrun --standalone --nproc-per-node=2 pretrain.py --out logs/pretrain.jsonl > logs/console.log 2>&1
