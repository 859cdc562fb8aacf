#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
mkdir -p logs
timeout -s INT 50 torchrun --standalone --nproc-per-node 2 train_gan.py gan.json > logs/console.log 2>&1
