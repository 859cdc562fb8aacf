#!/bin/bash
# two nodes (10.77.5.1, 10.77.5.2) on this machine, one network namespace each
cd "$(dirname "$0")"
LOGS=${LOGS:-logs}; OUT=${OUT:-$(mktemp -d /tmp/o1kws.XXXX)}; mkdir -p "$LOGS"
A=o1kwsa; B=o1kwsb
clean() { for n in $A $B; do for p in $(ip netns pids $n 2>/dev/null); do kill -9 $p 2>/dev/null; done; ip netns del $n 2>/dev/null; done; }
clean; trap clean EXIT
ip netns add $A; ip netns add $B
ip link add eno1 netns $A type veth peer name eno1 netns $B
ip -n $A addr add 10.77.5.1/24 dev eno1; ip -n $B addr add 10.77.5.2/24 dev eno1
for n in $A $B; do ip -n $n link set lo up; ip -n $n link set eno1 up; done
# host daemon
hostd() { while sleep 0.5; do for p in $(ip netns pids $1 2>/dev/null); do
  r=$(awk '/VmRSS/{print int($2/1024)}' /proc/$p/status 2>/dev/null); [ "${r:-0}" -gt 1100 ] && kill -9 $p; done; done; }
hostd $A & HA=$!; hostd $B & HB=$!
ip netns exec $A unshare -u sh -c "hostname gpu-a; exec ./node.sh 0 $OUT" >"$LOGS/gpu-a.log" 2>&1 & NA=$!
ip netns exec $B unshare -u sh -c "hostname gpu-b; exec ./node.sh 1 $OUT" >"$LOGS/gpu-b.log" 2>&1 & NB=$!
wait $NA; echo "gpu-a: exit $?" >>"$LOGS/gpu-a.log"
wait $NB; echo "gpu-b: exit $?" >>"$LOGS/gpu-b.log"
kill $HA $HB
rm -rf "$OUT"
