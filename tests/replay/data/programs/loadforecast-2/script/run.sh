#!/bin/bash
# interactive session on the cluster: quick CPU check before submitting
cd "$(dirname "$0")"
PY=python
mkdir -p logs
exec env -i HOME=/tmp PATH=/usr/bin:/bin LANG=C.UTF-8 bash --noprofile --norc -c "
. ./session.env
env | sort > logs/env.txt
exec timeout -s INT -k 5 30 $PY train.py --cpu --epochs 2 > logs/console.log 2>&1
"
