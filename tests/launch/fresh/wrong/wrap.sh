#!/bin/bash
set -e
sbatch -N 2 --ntasks-per-node=1 --gpus-per-node=4 -J wrapped \
  --wrap "srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-id=w1 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 train.py"
