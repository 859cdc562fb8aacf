#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
timeout 60 torchrun --standalone --nproc-per-node 2 align.py align.yaml 2>&1 | tee logs/console.log
