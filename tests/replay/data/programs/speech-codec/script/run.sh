#!/bin/bash
cd "$(dirname "$0")"
timeout 60 torchrun --nproc-per-node 2 --master-port 29751 \
  --log-dir logs/tr --redirects 3 --tee 3 train_codec.py conf/base.json > logs/console.log 2>&1
