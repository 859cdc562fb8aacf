#!/bin/bash
cd "$(dirname "$0")"
rm -rf exp logs; mkdir -p logs
export OMP_NUM_THREADS=1
timeout 60 torchrun --nproc-per-node 2 --master-port 29511 \
    --log-dir logs/torchrun --redirects 3 train.py config.json > logs/console.log 2>&1
echo "exit $?" >> logs/console.log
cp exp/kws_small/*.log logs/
