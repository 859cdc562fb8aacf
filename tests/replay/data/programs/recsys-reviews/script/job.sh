#!/bin/bash
# on the lab node: df, data, training
set -e
P=/mnt/lab/reviews
mkdir -p $P
df -hT $P | tail -1
python make_reviews.py $P/reviews.jsonl
export PATH=/opt/env/bin:$PATH OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1
exec timeout -s INT -k 5 55 torchrun --standalone --nproc-per-node 2 rate.py --project $P --epochs 3
