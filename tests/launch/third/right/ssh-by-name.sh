#!/bin/bash
for host in node1 node2; do
  ssh "$host" "cd $PWD && torchrun --nnodes=2 --nproc_per_node=8 --rdzv_id=42 --rdzv_backend=c10d --rdzv_endpoint=node1:29500 train.py" &
done
wait
