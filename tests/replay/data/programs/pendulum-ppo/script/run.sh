#!/bin/bash
cd "$(dirname "$0")"
rm -rf logs/tr; mkdir -p logs
timeout -s INT 30 torchrun --standalone --nproc-per-node 2 --log-dir logs/tr --redirects 3 --tee 3 learner.py > logs/console.log 2>&1
