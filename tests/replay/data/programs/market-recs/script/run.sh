#!/bin/bash
cd "$(dirname "$0")"
[ -f data/index.tsv ] || python3 data/make_index.py
timeout -s INT ${T:-40} torchrun --standalone --nproc-per-node 4 \
    --log-dir logs --redirects 3 train.py --config conf/base.json > logs/launcher.log 2>&1
echo "exit $?" >> logs/launcher.log
