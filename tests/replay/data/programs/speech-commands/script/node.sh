#!/bin/bash
# started on every node: node.sh NODE_RANK OUT
cd "$(dirname "$0")"
export GLOO_SOCKET_IFNAME=eno1 OMP_NUM_THREADS=1
exec torchrun --nnodes 2 --node-rank "$1" --nproc-per-node 2 \
    --master-addr 10.77.5.1 --master-port 29610 train.py config.json "$2"
