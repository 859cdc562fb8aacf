#!/bin/bash
# two nodes of two ranks; SCRATCH is the disk of the node
cd "$(dirname "$0")"
LOGS=${LOGS:-logs}; mkdir -p "$LOGS"
TOP=$(mktemp -d /tmp/o1diff.XXXX); mkdir $TOP/n0 $TOP/n1
go() {  # go NAME STEPS
  for n in 0 1; do
    SCRATCH=$TOP/n$n timeout -s INT ${LIMIT:-45} torchrun --nnodes 2 --node-rank $n --nproc-per-node 2 \
      --master-addr 127.0.0.1 --master-port 29748 diffuse.py --steps $2 >"$LOGS/$1.node$n.log" 2>&1 &
  done
  wait
}
go monday 40
go tuesday 80
rm -rf $TOP
