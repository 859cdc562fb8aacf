#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export PYTHONUNBUFFERED=1
B=/opt/env/bin
# the laptop run of last month
OMP_NUM_THREADS=1 $B/python train.py config.yaml > logs/console_1proc.log 2>&1
# the same on the shared box
OMP_NUM_THREADS=1 timeout 100 $B/torchrun --nproc_per_node 4 --standalone train.py config.yaml > logs/console_4proc.log 2>&1
