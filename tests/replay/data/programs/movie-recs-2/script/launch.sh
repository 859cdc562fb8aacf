#!/bin/bash
# Start the recommender on every machine of hosts.txt. Call it on trn0.
cd "$(dirname "$0")"
DIR=$PWD
TORCHRUN=torchrun
HEAD=$(head -n 1 hosts.txt)
N=$(wc -l < hosts.txt)
PORT=29517
mkdir -p logs

for host in $(cat hosts.txt); do
    echo "starting $host"
    ssh $host cd $DIR && OMP_NUM_THREADS=1 $TORCHRUN --nnodes $N --nproc-per-node 2 \
        --node-rank $(hostname | tr -cd 0-9) --master-addr $HEAD --master-port $PORT \
        train.py --epochs 3 --batch 256 > logs/$host.log 2>&1 &
    sleep 2
done
wait
echo "all launchers returned"
