#!/bin/bash
# environment: python -m venv, then pip install -r requirements.txt
cd "$(dirname "$0")"
VENV=${VENV:-/opt/env}
LOGS=${LOGS:-logs}
mkdir -p $LOGS
export OMP_NUM_THREADS=1
/opt/venv/bin/pip --python $VENV/bin/python freeze 2>/dev/null > $LOGS/freeze.txt
timeout 90 $VENV/bin/python -m torch.distributed.run --standalone --nproc-per-node 2 churn.py > $LOGS/console.log 2>&1
