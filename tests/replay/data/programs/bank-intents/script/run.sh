#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
/opt/venv/bin/torchrun --standalone --nproc-per-node 3 --log-dir logs/run --redirects 3 --tee 0:3 train.py > logs/console.log 2>&1
