"""`distkb kb verify` from the command line to the file, on packages that are in the cache already."""

from __future__ import annotations

import zipfile
from pathlib import Path

import msgspec
from click.testing import CliRunner

from distkb.catalogue.verified import Verified
from distkb.cli.main import cli
from distkb.verify.packages import KINDS

OURS = """
signatures:
  - id: acme.lost
    pattern: 'Ring (?:lost|broken) at rank [0-9]+'
    role: context
    means: {en: The ring was lost., ko: 링이 끊겼습니다.}
    example: 'Ring lost at rank 3'
    seen_in:
      - {component: nccl, since: '2.18', how: source}
"""


def test_ranges_are_held_against_packages_and_what_was_found_is_kept(tmp_path: Path) -> None:
    """A range that a package contradicts is a line with its place and exit 1; mended, `kb check` finds nothing."""
    (file := tmp_path / "kb/observations/ours.yaml").parent.mkdir(parents=True)
    file.write_text(OURS, encoding="utf-8")
    (kind,) = (kind for kind in KINDS if kind.component == "nccl")
    texts = {kind.only[0]: b"", kind.only[1]: b"Ring lost at rank %d"}
    for version in kind.only:
        path = tmp_path / f"nvidia_nccl_cu12-{version}-py3-none-manylinux2014_x86_64.whl"
        said = texts.get(version, b"Ring broken at rank %d")
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("nvidia/nccl/lib/libnccl.so.2", b"\0" + said + b"\0")
    call = ["kb", "verify", "nccl", "--kb", str(tmp_path / "kb"), "--cache", str(tmp_path), "--lang", "en"]
    first = CliRunner().invoke(cli, call)
    assert first.exit_code == 1
    assert f"ours.yaml:9:7: the packages say otherwise of 'acme.lost': it is not in nccl {kind.only[0]}" in first.stdout
    assert f"the wording changed: Ring lost at rank  (nccl {kind.only[1]})" in first.stdout
    held = msgspec.json.decode((tmp_path / "kb/verified.json").read_bytes(), type=Verified)
    assert held.packages["nccl"].versions == kind.only
    file.write_text(OURS.replace("2.18", kind.only[1]), encoding="utf-8")
    again = CliRunner().invoke(cli, call)
    assert (again.exit_code, "no range differs" in again.stdout) == (0, True)


def test_a_component_that_no_package_is_known_for_is_wrong_usage() -> None:
    """The ones that can be looked into are named."""
    wrong = CliRunner().invoke(cli, ["kb", "verify", "numpy", "--lang", "en"])
    assert wrong.exit_code == 2
    assert "deepspeed" in wrong.stderr
