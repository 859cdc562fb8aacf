#!/bin/sh
# ./by-hand.sh 0   on the first machine
# ./by-hand.sh 1   on the second
torchrun \
  --nnodes 2 \
  --node_rank $1 \
  --nproc_per_node 8 \
  train.py --data /mnt/data
