#!/bin/bash
# Two "machines" on one: a network namespace and host name each, joined by a virtual cable.
cd "$(dirname "$0")"
rm -rf data; mkdir -p logs
cat > .cluster.sh <<'C'
mount -t tmpfs t /run; mkdir -p /run/netns
printf '127.0.0.1 localhost\n10.77.0.10 wx-node0\n10.77.0.11 wx-node1\n' > /run/hosts; mount --bind /run/hosts /etc/hosts
ip netns add wx0; ip netns add wx1
ip link add e0 type veth peer name e1
ip link set e0 netns wx0 name eth0; ip link set e1 netns wx1 name eth0
for k in 0 1; do
  ip -n wx$k addr add 10.77.0.1$k/24 dev eth0
  ip -n wx$k link set eth0 up; ip -n wx$k link set lo up
done
node() { ip netns exec wx$1 unshare -u bash -c "hostname wx-node$1; timeout -s INT ${LIMIT:-400} bash node.sh $1" > logs/node$1.log 2>&1; }
node 0 & node 1 & wait
C
unshare -mn bash .cluster.sh
rm -f .cluster.sh
