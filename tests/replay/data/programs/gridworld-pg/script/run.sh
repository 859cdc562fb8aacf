#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1
timeout -s INT ${LIMIT:-40} torchrun --standalone --nproc-per-node 3 reinforce.py 2>&1 | tee logs/console.log
