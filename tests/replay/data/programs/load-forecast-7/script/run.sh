#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
OMP_NUM_THREADS=1 timeout -s INT 100 torchrun --standalone --nproc-per-node 2 train.py config.yaml > logs/console.log 2>&1
