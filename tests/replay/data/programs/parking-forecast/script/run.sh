#!/bin/bash
# pk01 and pk02, one rank each; both shells live on this box for now
cd "$(dirname "$0")"
L=${LOGS:-logs}; mkdir -p "$L"
export MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29641} WORLD_SIZE=2 OMP_NUM_THREADS=1

declare -A PY=( [pk01]=/opt/venv/bin/python [pk02]=/opt/env/bin/python )

r=0
for node in pk01 pk02; do
  NODE=$node RANK=$r timeout ${LIMIT:-45} ${PY[$node]} main.py --epochs 2 > "$L/$node.log" 2>&1 &
  r=$((r+1))
done
wait
