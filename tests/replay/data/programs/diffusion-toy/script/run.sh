#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
OMP_NUM_THREADS=1 timeout -s INT 60 torchrun --nproc-per-node 4 --master-port 29811 train.py --config config.json 2>&1 | tee logs/console.log
