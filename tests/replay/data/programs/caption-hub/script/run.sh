#!/bin/bash
cd "$(dirname "$0")"
B=/opt/venv/bin
PORT=${PORT:-29771}
export OMP_NUM_THREADS=1 HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_PROGRESS_BARS=1 HF_HUB_DISABLE_TELEMETRY=1
export HF_ENDPOINT=http://127.0.0.1:$((PORT + 1)) SCRATCH_DIR=$(mktemp -d /opt/env/scratch.XXXX)
rm -rf logs; mkdir -p logs
$B/python make_mirror.py
$B/python mirror.py $((PORT + 1)) logs/mirror_access.log & M=$!
sleep 1
timeout -s INT ${LIMIT:-90} $B/torchrun --nproc_per_node 4 --master_port $PORT --log-dir logs/elastic --redirects 3 \
    finetune.py > logs/launcher.log 2>&1
kill $M
rm -rf "$SCRATCH_DIR"
exit 0
