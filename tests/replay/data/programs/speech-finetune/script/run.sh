#!/bin/bash
# two epochs, then two more
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
RUN="timeout 50 torchrun --standalone --nproc-per-node 2 train.py"
mkdir -p logs; rm -rf ckpt
PYTHONPATH=kwspot_032 EPOCHS=2 $RUN > logs/first.log 2>&1
PYTHONPATH=kwspot_040 EPOCHS=4 $RUN > logs/console.log 2>&1
