#!/bin/bash
# four processes on this box
cd "$(dirname "$0")"
rm -rf logs runs twotower.pt; mkdir -p logs
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29541 WORLD_SIZE=4 ACCELERATE_USE_CPU=true
for r in 0 1 2 3; do
    RANK=$r LOCAL_RANK=$r timeout 80 python train.py >> logs/console.log 2>&1 &
done
wait
cp -r runs logs/runs
