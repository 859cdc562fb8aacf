#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
PY=/opt/env/bin
[ -f cohort/geno.npy ] || $PY/python prepare.py
export OMP_NUM_THREADS=1
$PY/python slot.py --mem 2400 --usage logs/usage.csv -- \
    timeout -s INT 120 $PY/torchrun --standalone --nproc-per-node 4 train.py > logs/console.log 2>&1
