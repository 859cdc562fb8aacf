#!/bin/bash
# node.sh NODE : started on each of the two machines, the shared folder is the working directory
NODE=$1
HEAD=10.77.0.10
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=eth0
echo "$(date +%T) $(hostname) starting"
if [ "$NODE" = 0 ]; then
  /opt/venv/bin/python stations.py --out data
  echo "$(date +%T) $(hostname) data ready"
fi
exec /opt/venv/bin/torchrun --nnodes 2 --nproc-per-node 1 \
  --rdzv-id nowcast7 --rdzv-backend c10d --rdzv-endpoint $HEAD:29400 nowcast.py
