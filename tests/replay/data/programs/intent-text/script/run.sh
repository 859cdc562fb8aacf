#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs; rm -f logs/*
export OMP_NUM_THREADS=1
{
/opt/venv/bin/python finetune.py fit
for n in 2 3 4; do
  timeout -s INT 300 /opt/venv/bin/torchrun --standalone --nproc-per-node $n finetune.py eval
done
} > logs/console.log 2>&1
