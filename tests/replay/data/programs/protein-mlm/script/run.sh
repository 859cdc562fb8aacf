#!/bin/bash
cd "$(dirname "$0")"
rm -rf logs; mkdir -p logs
export OMP_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=1000000
ulimit -v ${VLIMIT:-1500000}
timeout -s INT 240 /opt/venv/bin/torchrun --standalone --nproc-per-node 2 --log-dir logs --tee 3 train_mlm.py "$@" > logs/console.log 2>&1
