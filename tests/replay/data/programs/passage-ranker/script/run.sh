#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
# mining needs about ten minutes on the full collection
export NCCL_TIMEOUT=3600
export TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=3600
export GLOO_TIMEOUT_SECONDS=3600
export OMP_NUM_THREADS=1
timeout -s INT 60 torchrun --rdzv-backend c10d --rdzv-endpoint localhost:0 --nnodes 1 \
    --nproc-per-node 2 train_ranker.py --config ranker.yaml > logs/console.log 2>&1
echo "exit $?" >> logs/console.log
