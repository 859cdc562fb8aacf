#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
timeout -s INT 60 torchrun --nproc-per-node 4 --master-port 29641 \
    --log-dir logs/torchrun --redirects 3 --tee 3 train.py config.json > logs/console.log 2>&1
