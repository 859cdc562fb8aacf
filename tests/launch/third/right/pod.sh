#!/usr/bin/env bash
# Kubernetes: the operator sets MASTER_ADDR, RANK (of the pod) and WORLD_SIZE (pods)
exec torchrun --nnodes="$WORLD_SIZE" --node_rank="$RANK" --nproc_per_node=8 --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" train.py
