#!/bin/bash
cd "$(dirname "$0")"
rm -rf logs/run && mkdir -p logs
export OMP_NUM_THREADS=1
timeout -s INT 40 torchrun --standalone --nproc-per-node 3 \
    --log-dir logs/run --redirects 3 --tee 0:3 \
    train_diffusion.py --steps 90 --save-every 30 > logs/console.log 2>&1
echo "exit status $?" >> logs/console.log
