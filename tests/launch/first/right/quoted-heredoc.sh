#!/bin/bash
sbatch --nodes="${1:-2}" <<'EOF'
#!/bin/bash
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
MASTER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes="$SLURM_NNODES" --nproc-per-node=4 --rdzv-id="$SLURM_JOB_ID" --rdzv-backend=c10d --rdzv-endpoint="$MASTER:29500" train.py
EOF
