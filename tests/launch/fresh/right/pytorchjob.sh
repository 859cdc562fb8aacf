#!/bin/bash
# entry point of the container: the operator sets WORLD_SIZE, RANK, MASTER_ADDR and MASTER_PORT
set -ex
exec torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK --nproc_per_node=8 --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT train.py
