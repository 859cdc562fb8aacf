"""Lines of the kernel and of drivers: none is passed over, and the first answer names what is ill."""

from __future__ import annotations

from pathlib import Path

import built_in
import pytest

from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.guide import Guide
from distkb.intake import read


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("[83028.888618] EXT4-fs (dm-0): I/O error while writing superblock", "U13"),
        ("kernel: block nvme0n1: no available path - failing I/O", "U13"),
        ("md/raid1:md1: Disk failure on sda1 detected, failing array", "U13"),
        ("nvme nvme0: I/O tag 10 (1234) opcode 0x1 (Read) QID 1 timeout, reset controller", "U13"),
        ("[Sun Jun 29 19:29:39 2025] kworker/u203:1: attempt to access beyond end of device", "U13"),
        ("nvidia-nvswitch0: SXid (PCI:0000:00:00.0): xyz, Fatal error", "U13"),
        ("nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping", "U13"),
        ("segfault at 7f797fe00000 ip 00007f7c7ac69996 sp 00007f7c12fd7c30 error 4 in libnccl.so.2", "U12"),
        ("[ERROR] [tid 1230079] failed to find the GPU handle 54100 in the multicast team request", "MN2"),
        ("nv-fabricmanager[19]: detected number of NVSwitches don't match with any supported topology", "MN2"),
        (" nfs_page_async_flush+0x24/0x290 [nfs]", "D69"),
        ("VFS: file-max limit 1000000 reached", "U9"),
    ],
)
def test_a_line_of_the_machine_is_named_or_quoted(line: str, entry: str | None, tmp_path: Path) -> None:
    """Where no entry fits, the line is quoted all the same and nothing is called fine."""
    (tmp_path / "dmesg.log").write_text(line + "\n", encoding="utf-8")
    catalogue = built_in.catalogue()
    answer = diagnose(Guide(catalogue), read(catalogue, [tmp_path], cache_dir=cache_directory()))
    assert answer.verdict != "no-evidence"
    assert (answer.causes[0].entry.id if answer.verdict != "unknown" else None) == entry


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("labbook: API key for root: ", True),
        ("Password:", True),
        ("Overwrite runs/a? [y/N]: ", True),
        ("Press enter to continue...", True),
        ("Login successful.", False),
        ("Using username and password authentication.", False),
        ("wandb: Currently logged in as: bob. Use `wandb login --relogin` to force relogin", False),
    ],
)
def test_a_line_asks_where_it_ends_with_asking(line: str, asks: bool, tmp_path: Path) -> None:
    """What only tells of a login asks for nothing."""
    (tmp_path / "train.log").write_text(f"step 1 loss 2.31\n{line}\n", encoding="utf-8")
    found = read(built_in.catalogue(), [tmp_path], cache_dir=cache_directory())
    assert bool({"log.asks", "log.asks-for-key"} & {o.id for o in found.observations if o.present}) is asks
