#!/bin/bash
# The two nodes are network namespaces of this machine (leaf-a 10.88.41.1, leaf-b 10.88.41.2); needs root.
cd "$(dirname "$0")"
source cluster.env
mkdir -p logs
if [ ! -e /run/netns/leaf-a ]; then
    for n in leaf-a leaf-b; do ip netns add $n; ip -n $n link set lo up; done
    ip link add data0 netns leaf-a type veth peer name data0 netns leaf-b
    ip -n leaf-a addr add 10.88.41.1/24 dev data0; ip -n leaf-a link set data0 up
    ip -n leaf-b addr add 10.88.41.2/24 dev data0; ip -n leaf-b link set data0 up
fi
on() { ip netns exec "$1" env "${@:2}"; }   # ssh on the real cluster

i=0
for n in "${NODES[@]}"; do
    on $n NODERANK=$i timeout -s INT -k 5 ${LIMIT:-40} bash node.sh > logs/$n.log 2>&1 &
    i=$((i + 1))
done
wait
ip netns del leaf-a; ip netns del leaf-b
