#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1
timeout -s INT 60 /opt/venv/bin/torchrun --standalone --nproc-per-node=3 tagger.py "$@" > logs/console.log 2>&1
