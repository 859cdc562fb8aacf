#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1
{
    /opt/venv/bin/torchrun --standalone --nproc-per-node 2 fit.py
    ls -l ckpt
    /opt/venv/bin/python score.py
} > logs/console.log 2>&1
