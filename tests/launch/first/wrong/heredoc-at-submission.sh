#!/bin/bash
# usage: ./submit.sh NODES
NODES=${1:-2}
for lr in 1e-4 3e-4; do
sbatch <<EOT
#!/bin/bash
#SBATCH --nodes=$NODES
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --job-name=sweep-$lr

MASTER=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=$NODES --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$MASTER:29500 train.py --lr $lr
EOT
done
