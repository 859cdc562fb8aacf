#!/bin/bash
# Tries out how the job lives through the loss of a worker: rank 1 is killed some way into training.
cd "$(dirname "$0")"
rm -rf data work logs; mkdir -p logs
export OMP_NUM_THREADS=1 TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
python fetch_data.py data > logs/console.log
timeout 60 torchrun --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint localhost:29537 --max-restarts 1 \
    --log-dir logs/torchrun --redirects 3 --tee 3 \
    train.py --data data --ckpt work/last.pt --epochs 4 >> logs/console.log 2>&1 &
for _ in $(seq 400); do
    grep -q "rank1 epoch 1 step 120 " logs/console.log && break
    sleep 0.2
done
kill -9 "$(grep -o 'rank1 pid [0-9]*' logs/console.log | head -1 | awk '{print $3}')"
wait $!
echo "torchrun exit $?" >> logs/console.log
