#!/bin/bash
# nightly retraining, called from cron
cd "$(dirname "$0")"
rm -rf logs; mkdir -p logs
export OMP_NUM_THREADS=1
timeout 120 python -m torch.distributed.launch --nproc-per-node 2 --master-port 29733 \
    --log-dir logs/workers --redirects 3 \
    forecaster.py --epochs 3 --batch-size 64 --out out > logs/console.log 2>&1
echo "forecaster finished with status $?" >> logs/console.log
