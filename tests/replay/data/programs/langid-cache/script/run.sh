#!/bin/bash
# two machines, two workers each; RSH defaults to ssh, the data folder is the shared one
cd "$(dirname "$0")"
RSH=${RSH:-ssh}
HERE=$PWD
DATA=${DATA:-/mnt/fs01/langid}
mkdir -p logs
i=0
for node in node01 node02; do
    $RSH $node "cd $HERE; export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo; hostname; df -h /mnt/fs01; mkdir -p $DATA; \
        timeout -s INT 80 /opt/venv/bin/torchrun --nnodes 2 --node-rank $i --nproc-per-node 2 \
        --master-addr 127.0.0.1 --master-port ${PORT:-29671} -m langid.train --data $DATA" > logs/$node.log 2>&1 &
    pids[$i]=$!
    i=$((i + 1))
done
wait ${pids[0]}; a=$?
wait ${pids[1]}; b=$?
exit $((a > b ? a : b))
