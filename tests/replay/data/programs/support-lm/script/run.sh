#!/bin/bash
cd "$(dirname "$0")"
export HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
export ACCELERATE_USE_FSDP=true FSDP_CPU_RAM_EFFICIENT_LOADING=true
[ -d base ] || /opt/venv/bin/python make_base.py > /dev/null 2>&1
timeout -s INT 240 /opt/venv/bin/torchrun --standalone --nproc-per-node 4 finetune.py > logs/console.log 2>&1
