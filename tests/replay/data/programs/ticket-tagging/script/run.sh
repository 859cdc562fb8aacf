#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
timeout -s INT 60 torchrun --nproc-per-node 2 --master-port 29812 finetune.py > logs/console.log 2>&1
echo "exit $?" >> logs/console.log
