#!/bin/sh
# started by hand on each of the two machines
set -e
cd /srv/project
export OMP_NUM_THREADS=8
exec python3 -m torch.distributed.run --nnodes=2 --nproc-per-node=8 \
     --rdzv-backend=c10d --rdzv-id=exp42 \
     -m project.train --lr 3e-4
