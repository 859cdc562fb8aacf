#!/bin/bash
# plain env launch, 3 learners on this box
cd "$(dirname "$0")"
mkdir -p logs
PY=python
export RUNBOARD_URL=http://127.0.0.1:28765 OMP_NUM_THREADS=1
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29683 WORLD_SIZE=3
$PY runboard_server.py 28765 2> logs/board.log & BOARD=$!
sleep 1
PIDS=()
for R in 0 1 2; do
  RANK=$R LOCAL_RANK=$R timeout -s INT 40 $PY ppo.py --updates 40 > logs/out.$R.txt 2>&1 &
  PIDS+=($!)
done
wait "${PIDS[@]}"
kill $BOARD
