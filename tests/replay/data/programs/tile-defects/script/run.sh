#!/bin/bash
cd "$(dirname "$0")"
PY=python
rm -rf logs; mkdir -p logs
{
  $PY make_tiles.py data
  export MASTER_ADDR=127.0.0.1 MASTER_PORT=29651 WORLD_SIZE=2
  for r in 0 1; do RANK=$r timeout 60 $PY main.py tiles.json & done
  wait
  $PY score.py tiles.json
} > logs/console.log 2>&1
rm -rf data
