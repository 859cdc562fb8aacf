#!/bin/bash
# both hosts of the rack, two workers each, and the lab's usual tidy loop
cd "$(dirname "$0")"
LOGS=${LOGS:-logs}
mkdir -p $LOGS && rm -rf sessions
export OMP_NUM_THREADS=1
python -m lab.tidy sessions --idle 18 2> $LOGS/tidy.log &
TIDY=$!
for host in 0 1; do
    timeout 100 torchrun --nnodes 2 --node-rank $host --nproc-per-node 2 \
        --master-addr 127.0.0.1 --master-port 29857 \
        train_calls.py --epochs ${EPOCHS:-16} > $LOGS/sea$host.log 2>&1 &
    HOSTS="$HOSTS $!"
done
wait $HOSTS
kill $TIDY
