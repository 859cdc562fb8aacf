#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1
timeout 100 torchrun --nproc-per-node 2 --master-port 29911 main.py \
    --num_generations 16 --per_device_batch 4 --accumulation 8 --per_device_eval_batch 4 --updates 150 --eval_every 50 \
    > logs/console.log 2>&1
echo "exit $?" >> logs/console.log
