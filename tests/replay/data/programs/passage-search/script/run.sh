#!/bin/bash
cd "$(dirname "$0")"
export ACCELERATE_USE_CPU=true
timeout 60 torchrun --nproc-per-node 2 --master-port 29761 finetune.py \
  --epochs 2 --gradient_checkpointing > logs/console.log 2>&1
