#!/bin/bash
cd "$(dirname "$0")"
L="accelerate launch --config_file config.yaml train.py"
rm -f logs/*; mkdir -p logs
{
echo "== straight through"
timeout 50 $L --log straight.jsonl
echo "== first half, then the queue limit"
timeout 50 $L --log halves.jsonl --stop-after 4
echo "== second half"
timeout 50 $L --log halves.jsonl --resume logs/last.pt
} > logs/console.log 2>&1
rm -f logs/last.pt
