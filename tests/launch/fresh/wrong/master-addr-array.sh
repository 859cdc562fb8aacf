#!/usr/bin/bash
#SBATCH --job-name vit
#SBATCH --nodes 4
#SBATCH --ntasks-per-node 1
#SBATCH --gpus-per-node 4
MASTER_PORT=$((10000 + SLURM_JOB_ID % 50000))
export MASTER_PORT
export TORCH_ARGS=(
  --nproc-per-node=4
  --nnodes=4
)
srun --wait 60 bash -c '
  torchrun --nproc-per-node=4 --nnodes=4 --node-rank=$SLURM_NODEID \
    --master-addr=localhost --master-port=$MASTER_PORT \
    train_vit.py
'
