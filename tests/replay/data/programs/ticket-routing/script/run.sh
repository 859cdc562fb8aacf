#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
/opt/venv/bin/accelerate launch --multi_gpu --num_processes 4 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 29617 \
    finetune.py --num_train_epochs 5 --output_dir out 2>&1 | tee console.log
