#!/bin/bash
HOSTS=(gpu01 gpu02 gpu03)
NNODES=${#HOSTS[@]}
for i in "${!HOSTS[@]}"; do
  ssh "${HOSTS[$i]}" "cd $PWD && torchrun --nnodes=$NNODES --node_rank=$i --nproc_per_node=8 --master_addr=${HOSTS[0]} --master_port=29500 train.py" &
done
wait
