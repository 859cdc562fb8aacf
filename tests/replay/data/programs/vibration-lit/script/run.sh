#!/bin/bash
cd "$(dirname "$0")"
rm -rf logs; mkdir -p logs
export OMP_NUM_THREADS=1
timeout 100 torchrun --standalone --nproc-per-node 2 --log-dir logs/torchrun --tee 3 train.py > logs/console.log 2>&1
