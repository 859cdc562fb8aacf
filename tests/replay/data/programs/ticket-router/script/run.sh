#!/bin/bash
# 4-way on the new box
cd "$(dirname "$0")"
export PATH=/opt/env/bin:/opt/venv/bin:$PATH
export OMP_NUM_THREADS=1 TORCH_EXTENSIONS_DIR=/opt/env/ext
mkdir -p logs
export MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29631} WORLD_SIZE=${NGPU:-4}
for r in $(seq 0 $((WORLD_SIZE - 1))); do
    RANK=$r LOCAL_RANK=$r python router.py > logs/router.$r.log 2>&1 &
done
wait
