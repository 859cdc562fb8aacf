#!/bin/bash
cd "$(dirname "$0")"
export GLOO_SOCKET_IFNAME=ens5 OMP_NUM_THREADS=1
exec torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-id a2c \
    --rdzv-endpoint 10.88.3.1:29500 a2c.py "$1"
