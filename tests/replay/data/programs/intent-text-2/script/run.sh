#!/bin/bash
cd "$(dirname "$0")"
mkdir -p logs
python train.py config.json > logs/console.log 2>&1
echo "exit code $?" >> logs/console.log
