#!/bin/bash
# usage: node.sh NODE_RANK  - type this on each machine
cd "$(dirname "$0")"
exec torchrun --nnodes 2 --nproc-per-node 2 --node-rank "$1" \
  --master-addr 127.0.0.1 --master-port "${PORT:-29640}" train.py --data "scratch/n$1" --dist-timeout 20
