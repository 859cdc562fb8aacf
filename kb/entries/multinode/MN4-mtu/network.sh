# The hosts are set to jumbo frames; the switch between them carries 1500 bytes and drops what is larger.
set -e
[ "$2" = fixed ] && exit 0
ip link set eth0 gso_max_segs 1 mtu 9000
