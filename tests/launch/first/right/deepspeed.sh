#!/bin/bash
# two nodes with passwordless ssh
cat > hostfile <<END
worker-1 slots=8
worker-2 slots=8
END
deepspeed --hostfile=hostfile --num_nodes 2 --num_gpus 8 --master_addr worker-1 --master_port 29500 \
  train.py --deepspeed ds_zero3.json
