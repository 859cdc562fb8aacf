#!/bin/bash
# three workers on this box, plus one look at the memory of worker 1 when it has settled
cd "$(dirname "$0")"
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29641 WORLD_SIZE=3 RUN_DIR=run
export PYTHONUNBUFFERED=1
PY=python
rm -rf run; mkdir -p run logs

for r in 0 1 2; do
    RANK=$r LOCAL_RANK=$r timeout -k 5 -s INT ${LIMIT:-55} $PY train_kws.py > logs/rank$r.log 2>&1 &
done

until grep -q 'epoch 1 it' logs/rank0.log; do sleep 1; done
bash memsnap.sh "$(cat run/rank1.pid)" logs/mem_rank1
( sleep 12; ps -C python -o pid,ppid,stat,etime,time,args | grep -E 'PID|train_kws' > logs/ps.txt ) &
wait
