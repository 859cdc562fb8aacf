#!/bin/bash
cat > job.slurm <<EOF
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID --rdzv_endpoint=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1):29500 train.py --name $1
EOF
sbatch job.slurm
