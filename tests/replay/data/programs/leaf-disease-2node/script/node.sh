#!/bin/bash
# runs on every node (started from run.sh)
cd "$(dirname "$0")"
source cluster.env
export OMP_NUM_THREADS=1 LOGLEVEL=INFO GLOO_SOCKET_IFNAME=data0
exec "${TORCHRUN:-/opt/venv/bin/torchrun}" \
    --nnodes "$NNODES" --nproc-per-node 2 \
    --node-rank "${NODE_RANK:-0}" \
    --master-addr "$MASTER_ADDR" --master-port 29541 \
    train.py --config config.yaml
