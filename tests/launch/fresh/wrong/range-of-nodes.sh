#!/bin/bash
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2

launch() {
  local script=$1; shift
  srun --export=ALL python -m torch.distributed.run \
    --nnodes=2:2 --nproc_per_node=2 \
    --rdzv_id="$SLURM_JOB_ID" --rdzv_backend=c10d --rdzv_endpoint="$MASTER_ADDR:29500" \
    "$script" "$@"
}
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
launch train.py --epochs 3
