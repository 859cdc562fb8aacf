# The nodes' security group: `broken` lets the master port in and drops every other TCP connection between the nodes
# without an answer; `fixed` lets the nodes of the job reach one another on all ports.
set -e
[ "$2" = fixed ] && exit 0
# A pair of interfaces whose far end belongs to nobody swallows what is routed into it.
ip link add drop0 type veth peer name drop1
ip link set drop0 arp off up && ip link set drop1 up
ip route add 10.77.0.0/24 dev drop0 table 77
ip rule add pref 10 ipproto tcp dport 29400 table main
ip rule add pref 11 ipproto tcp sport 29400 table main
ip rule add pref 12 to 10.77.0.0/24 ipproto tcp table 77
