#!/bin/bash
cd "$(dirname "$0")"
rm -rf logs/run && mkdir -p logs/run
export OMP_NUM_THREADS=1
timeout -s INT 50 torchrun --nproc-per-node 2 --master-port 29813 \
    --log-dir logs/run --redirects 3 --tee 3 train.py "$@" > logs/console.log 2>&1
