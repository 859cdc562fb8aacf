#!/usr/bin/env bash
# run this on every node
export NCCL_SOCKET_IFNAME=eth0
HEAD_NODE=${1:?head node}
torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint="$HEAD_NODE:29500" train.py
