from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.probing.env.contract import is_placeholder
from distkb.probing.env.devices import visible_devices
from distkb.probing.env.interfaces import parse_gloo, parse_nccl
from distkb.probing.env.machine import count_cpus

NAMES = st.text(string.ascii_lowercase + string.digits, min_size=2, max_size=8)


@given(st.lists(NAMES, min_size=1, max_size=5), st.booleans(), st.booleans(), NAMES)
def test_nccl_lists_follow_nccl(names: list[str], exclude: bool, exact: bool, name: str) -> None:
    """`^` excludes, `=` asks for whole names, else a prefix is enough; ports after a colon do not matter."""
    text = "^" * exclude + "=" * exact + ",".join(f"{item}:3" for item in names)
    choice = parse_nccl(text)
    assert choice is not None
    wanted = name in names if exact else any(name.startswith(item) for item in names)
    assert choice.takes(name) == (wanted != exclude)


@pytest.mark.parametrize(
    ("value", "name", "taken"),
    [
        ("eth", "eth0", True),
        ("=eth", "eth0", False),
        ("^docker,lo", "lo", False),
        ("^docker,lo", "eth0", True),
        ("^=eth", "eth0", True),
        ("eth0,,eth1", "eth1", True),
        (" eth0", "eth0", False),
        ("=eth0,=eth1", "eth1", False),
        ("^docker0,^lo", "lo", True),
    ],
)
def test_nccl_lists_as_people_write_them(value: str, name: str, taken: bool) -> None:
    """A mark counts at the beginning of the whole value only, and blanks belong to the name."""
    choice = parse_nccl(value)
    assert choice is not None
    assert choice.takes(name) is taken


@pytest.mark.parametrize("value", ["", "e"])
def test_nccl_does_not_read_a_value_of_one_character(value: str) -> None:
    """NCCL chooses by itself unless the value is longer than one character."""
    assert parse_nccl(value) is None


@given(st.lists(NAMES, min_size=1))
def test_gloo_takes_whole_names(names: list[str]) -> None:
    """Gloo's list is split at commas and nothing else."""
    assert parse_gloo(",".join(names)) == tuple(names)


@given(st.lists(st.integers(0, 7), unique=True, min_size=1))
def test_a_list_of_existing_devices_is_visible_as_it_is(devices: list[int]) -> None:
    """Distinct devices that exist are all visible, in their order."""
    shown = visible_devices(",".join(map(str, devices)), 8)
    assert shown.devices == tuple(map(str, devices))
    assert (shown.hidden, shown.repeated, shown.unknown) == (False, None, None)


@pytest.mark.parametrize(
    ("value", "devices"),
    [
        (None, ("0", "1", "2", "3")),
        ("", ()),
        ("-1", ()),
        ("1,-1,2", ("1",)),
        ("0,0", ()),
        ("2,9,1", ("2",)),
        ("1gpu,2gpu", ("1", "2")),
        ("NoDevFiles", ()),
        (" 1 , 3", ("1", "3")),
        ("GPU-aaaa,GPU-bbbb", ("GPU-aaaa", "GPU-bbbb")),
        ("GPU-aaaa,1", ("GPU-aaaa",)),
        ("MIG-x,MIG-y", ("MIG-x", "MIG-y")),
    ],
)
def test_visible_devices_follow_cuda(value: str | None, devices: tuple[str, ...]) -> None:
    """The value is read as CUDA and torch.cuda read it."""
    assert visible_devices(value, 4, ("GPU-aaaa1", "GPU-bbbb2")).devices == devices


@given(st.text())
def test_visible_devices_of_any_text(value: str) -> None:
    """No text makes the parser fail, and no device is visible twice."""
    devices = visible_devices(value, 4).devices
    assert len(set(devices)) == len(devices)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_cpu_lists_are_counted(cpus: set[int]) -> None:
    """A list of single cores counts each of them once, however it is written."""
    assert count_cpus(",".join(map(str, cpus))) == len(cpus)
    assert count_cpus(f"0-{max(cpus)}," + ",".join(map(str, cpus))) == max(cpus) + 1


@given(st.text())
def test_cpu_lists_of_any_text(text: str) -> None:
    """What is no list of cores counts as nothing."""
    assert count_cpus(text) >= 0


@pytest.mark.parametrize("value", ["<ip>", "$MASTER_ADDR", "${HOST}", "{{ ip }}", "xxx.xxx.xxx.xxx", "YOUR_IP", "null"])
def test_placeholders_are_known(value: str) -> None:
    """What examples and unexpanded shell text look like is recognised."""
    assert is_placeholder(value)


@pytest.mark.parametrize(
    "value", ["10.0.0.1", "node0", "gpu-a100-3.cluster.local", "localhost", "29500", "::1", "hostess"]
)
def test_real_values_are_no_placeholders(value: str) -> None:
    """Names, addresses and numbers of real clusters pass."""
    assert not is_placeholder(value)
