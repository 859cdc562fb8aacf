#!/bin/bash
#SBATCH -N 2
#SBATCH -J llama
#SBATCH --gres=gpu:h100:8
#SBATCH --exclusive

nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
nodes_array=($nodes)
head_node=${nodes_array[0]}
head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address)
echo Node IP: $head_node_ip

torchrun --nnodes=2 --nproc-per-node=8 --rdzv-id=$RANDOM --rdzv-backend=c10d --rdzv-endpoint=$head_node_ip:29500 pretrain.py
