#!/bin/bash
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
cat > run_node.sh <<'EOF'
#!/bin/bash
export RANK=$SLURM_PROCID
export NODE=$(hostname)
torchrun --nnodes=$SLURM_NNODES --node_rank=$SLURM_NODEID --nproc_per_node=2 --master_addr=$MASTER_ADDR --master_port=29500 train.py
EOF
chmod +x run_node.sh
srun ./run_node.sh
