#!/bin/bash
#SBATCH -N4 -p batch
#SBATCH --gpus-per-node=2
HEAD=$(hostname -s)
python -m torch.distributed.run --nnodes 4 --nproc_per_node 2 --rdzv_id $SLURM_JOB_ID --rdzv_backend c10d --rdzv_endpoint $HEAD:29400 main.py fit
