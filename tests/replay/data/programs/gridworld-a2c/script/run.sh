#!/bin/bash
# the hosts of hosts.txt as network namespaces of this machine, on one switch
cd "$(dirname "$0")"
LOGS=${LOGS:-logs}; mkdir -p "$LOGS"; RUN=${RUN:-$(mktemp -d /tmp/o1a2c.XXXX)}
clean() { for n in w0 w1; do for p in $(ip netns pids o1$n 2>/dev/null); do kill -9 $p 2>/dev/null; done; ip netns del o1$n 2>/dev/null; done; ip netns del o1sw 2>/dev/null; }
clean; trap clean EXIT
ip netns add o1sw; ip -n o1sw link add br0 type bridge; ip -n o1sw link set br0 up
hosts=$(grep -v '^#' hosts.txt)
{ echo "127.0.0.1 localhost"; awk '{print $2, $1}' <<<"$hosts"; } >$RUN/etc_hosts
while read n addr lease; do
  ip netns add o1$n; ip link add ens5 netns o1$n type veth peer name $n netns o1sw
  ip -n o1sw link set $n master br0 up; ip -n o1$n addr add $addr/24 dev ens5
  ip -n o1$n link set lo up; ip -n o1$n link set ens5 up
done <<<"$hosts"
while read n addr lease; do
  ip netns exec o1$n unshare -um sh -c "hostname $n; mount --bind $RUN/etc_hosts /etc/hosts; exec ./node.sh $RUN" >"$LOGS/$n.log" 2>&1 </dev/null &
  eval pid_$n=$!
  ( sleep $lease; ip -n o1sw link set $n down; for p in $(ip netns pids o1$n); do kill -9 $p; done ) >/dev/null 2>&1 </dev/null &
  eval lease_$n=$!
done <<<"$hosts"
wait $pid_w0; echo "exit code $?" >>"$LOGS/w0.log"
for s in $lease_w0 $lease_w1; do pkill -P $s; kill $s 2>/dev/null; done
cp $RUN/progress.csv "$LOGS/"; rm -rf $RUN
