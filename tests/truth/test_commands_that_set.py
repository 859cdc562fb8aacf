"""Commands that set something on a host, run as printed in namespaces of their own, and what they did there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from test_code_blocks import commands

PREPARED = """
set -e
sudo() { "$@"; }
mount -t tmpfs none "$HOME" && mkdir "$HOME/etc" "$HOME/shared"
cp /etc/passwd /etc/nsswitch.conf /etc/host.conf "$HOME/etc" 2>/dev/null || true
printf 'root:x:0:\\ntrain:x:2000:\\n' > "$HOME/etc/group"
printf '127.0.0.1 localhost\\n127.0.1.1 node1\\n' > "$HOME/etc/hosts"
mount --bind "$HOME/etc" /etc
hostname node1
ip link set lo up
ip link add eth0 type veth peer name wg0
ip address add 10.0.0.5/24 dev eth0
ip link set eth0 mtu 9000 up && ip link set wg0 mtu 9000 up
set +e
"""
"""A host with the address 10.0.0.5 on eth0 and a home folder of its own; its name leads to a loopback address."""
CACHES = 'mkdir -p "$HOME/.cache/torch_extensions/py311/cpu_adam" "$HOME/.cache/torch_extensions/py311/fused"'
LEFT = 'ls -A "$HOME/.cache/torch_extensions/py311" 2>/dev/null'
PORT = "import socket; one = socket.socket(); one.bind(('', 0)); print(50000 <= one.getsockname()[1] < 52000)"
CONFIG = '"$HOME/.cache/huggingface/accelerate"'
MEMBER = "setpriv --reuid 1001 --regid 1001 --groups 2000 bash -c"
SET: tuple[tuple[str, str, str, str, str], ...] = (
    # id, a part of the command, what is there before, what shows the effect, and what it shows
    ("MN1.a.1", "ip route get", "", "echo $GLOO_SOCKET_IFNAME", "eth0"),
    ("MN1.a.2", "/etc/hosts", "", "getent ahostsv4 node1 | head -n 1 | cut -d' ' -f1", "10.0.0.5"),
    ("MN4.a.2", "ip link set dev eth0 mtu 1500", "", "ip -o link show eth0 | grep -o 'mtu [0-9]*'", "mtu 1500"),
    ("MN4.b.1", "mtu 1420", "", "ip -o link show wg0 | grep -o 'mtu [0-9]*'", "mtu 1420"),
    ("MN4.a.3", "tcp_mtu_probing", "", "cat /proc/sys/net/ipv4/tcp_mtu_probing", "1"),
    (
        "MN6.a.3",
        "ip_local_port_range",
        "",
        f'python3 -c "{PORT}"',
        "True",
    ),
    ("MN6.c.1", "rp_filter=2", "", "cat /proc/sys/net/ipv4/conf/all/rp_filter", "2"),
    ("D43.b.1", "/etc/nccl.conf", "", "cat /etc/nccl.conf", "NCCL_P2P_DISABLE=1"),
    ("env.hostname-unresolvable", "tee -a /etc/hosts", "", "getent hosts elsewhere | cut -d' ' -f1", "10.0.0.5"),
    ("env.master-addr-elsewhere", "hostname -I", "", "echo $MASTER_ADDR", "10.0.0.5"),
    ("D4.a.2", "MASTER_PORT", "export SLURM_JOB_ID=4711003", "echo $MASTER_PORT", "21003"),
    ("D16.f.2", "rm -r", CACHES, LEFT, "fused"),
    ("D55.a.1", "rm -rf", CACHES, LEFT, ""),
    (
        "D5.e.1",
        "default_config.yaml",
        f"mkdir -p {CONFIG}; touch {CONFIG}/default_config.yaml",
        f"ls {CONFIG}",
        "default_config.yaml.old",
    ),
    (
        "D69.a.1",
        "chgrp",
        'mkdir -p "$HOME/shared/hf/hub" && touch "$HOME/shared/hf/hub/blob" && cd "$HOME/shared"',
        f"{MEMBER} 'echo x >> hf/hub/blob && touch hf/new && stat -c %G hf/new'",
        "train",
    ),
    (
        "env.process-stopped",
        "kill -CONT",
        "sleep 60 & kill -STOP $!; pid=$!",
        "ps -o stat= -p $pid | cut -c1; kill $pid",
        "S",
    ),
    ("env.open-files-low", "ulimit -n", "ulimit -Sn 64", "ulimit -Sn", "256"),
)
FILLED = {"{word}": "elsewhere", "{pid}": "$pid", "{wanted}": "256", "/shared/": "$HOME/shared/"}


def printed(where: str, part: str) -> str:
    """The command with this part in a fix or a finding, with what a reader fills in."""
    (command,) = [command for named, command in commands() if named == where and part in command]
    for name, value in FILLED.items():
        command = command.replace(name, value)
    return command


@pytest.mark.parametrize(("where", "part", "before", "shown", "effect"), SET, ids=[f"{one[0]}:{one[1]}" for one in SET])
def test_a_command_does_to_a_host_what_it_is_printed_for(
    tmp_path: Path, where: str, part: str, before: str, shown: str, effect: str
) -> None:
    """The command itself, sudo left out, in namespaces for network, mounts and host name."""
    if os.geteuid():
        pytest.skip("namespaces with several users need root")
    apart = ["unshare", "--net", "--mount", "--uts", "bash", "-c"]
    home = os.environ | {"HOME": str(tmp_path)}
    ready = subprocess.run([*apart, PREPARED], env=home, capture_output=True, text=True, check=False)
    if ready.returncode:
        pytest.skip(f"no namespaces here: {ready.stderr.strip()[-200:]}")
    script = f"{PREPARED}\n{before}\n{{ {printed(where, part)}\n}} >/dev/null\n{shown}\n"
    done = subprocess.run([*apart, script], env=home, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == effect, done.stderr
