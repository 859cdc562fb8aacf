#!/bin/bash
for seed in 1 2 3; do
  sbatch <<EOF
#!/bin/bash
#SBATCH --job-name=seed-$seed
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
head=\$(scontrol show hostnames "\$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-id=\$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=\$head:29500 train.py --seed $seed
EOF
done
