#!/bin/bash
cd "$(dirname "$0")"
export MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29655} WORLD_SIZE=3
mkdir -p logs
for RANK in 0 1 2; do
  RANK=$RANK timeout -s INT 40 python -u tagger.py settings.json > logs/rank_$RANK.out 2> logs/rank_$RANK.err &
done
wait
