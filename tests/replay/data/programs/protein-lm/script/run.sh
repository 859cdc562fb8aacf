#!/bin/bash
cd "$(dirname "$0")"
rm -rf ckpt logs; mkdir -p logs
export OMP_NUM_THREADS=1
timeout 60 torchrun --standalone --nproc-per-node 3 pretrain.py --steps 60 2>&1 | tee logs/console.log
