"""`distkb kb verify` from the command line to the file, on packages and a repository that are in the cache already."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
from click.testing import CliRunner, Result

from distkb.catalogue.verified import Verified
from distkb.cli.main import cli

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
DEFAULT = """
settings:
  - id: NCCL_RING_WAIT
    name: NCCL_RING_WAIT
    kind: variable
    place: environment
    means: {en: How long a ring waits., ko: 링이 기다리는 시간입니다.}
    read_by: [{component: nccl}]
    defaults: [{value: '14', component: nccl}]
"""


def repository(cache: Path, texts: dict[str, str]) -> None:
    """The repository of NCCL in the cache, with a tag for each version and one file that says its text."""
    home = cache / "nccl.git"
    home.mkdir()
    git = ["git", "-C", str(home), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    for version, text in texts.items():
        (home / "debug.cc").write_text(text)
        (home / "notes.txt").write_text(version)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", version], check=True)
        subprocess.run([*git, "tag", f"v{version}-1"], check=True)


def verify(cache: Path, *more: str) -> Result:
    """The command on the knowledge base beside the cache."""
    call = ["kb", "verify", "nccl", "--kb", str(cache / "kb"), "--cache", str(cache), "--lang", "en", *more]
    return CliRunner().invoke(cli, call)


def test_ranges_are_held_against_tags_and_rewritten(tmp_path: Path) -> None:
    """A range that a tag contradicts is a line with its place and exit 1; rewritten, `kb check` finds nothing."""
    (file := tmp_path / "kb/observations/ours.yaml").parent.mkdir(parents=True)
    file.write_text(OURS, encoding="utf-8")
    said = {
        "2.18.3": "",
        "2.18.5": 'WARN("Ring lost at rank %d", rank)',
        "2.19.1": 'WARN("Ring broken at rank %d", rank)',
    }
    repository(tmp_path, said)
    first = verify(tmp_path)
    assert first.exit_code == 1
    assert "ours.yaml:9:7: the packages say otherwise of 'acme.lost': it is not in nccl 2.18.3" in first.stdout
    assert "the wording changed: Ring lost at rank  (nccl 2.18.5)" in first.stdout
    held = msgspec.json.decode((tmp_path / "kb/verified.json").read_bytes(), type=Verified)
    assert held.packages["nccl"].versions == tuple(said)
    again = verify(tmp_path, "--write")
    assert (again.exit_code, "no range differs" in again.stdout) == (0, True)
    assert file.read_text(encoding="utf-8") == OURS.replace("2.18", "2.18.5")


def test_what_cannot_be_had_leaves_the_rest(tmp_path: Path) -> None:
    """A package that cannot be brought is told of, with what was found in it before; the others are looked into."""
    (file := tmp_path / "kb/observations/ours.yaml").parent.mkdir(parents=True)
    file.write_text(OURS, encoding="utf-8")
    repository(tmp_path, {"2.18.3": 'WARN("Ring lost at rank %d", rank)'})
    verify(tmp_path)
    (tmp_path / "nccl.git").rename(tmp_path / "away.git")
    (tmp_path / "nccl.git").write_text("no repository")
    after = verify(tmp_path)
    assert after.exit_code == 3
    assert "nccl could not be looked into, what was found before stands:" in after.stderr
    held = msgspec.json.decode((tmp_path / "kb/verified.json").read_bytes(), type=Verified)
    assert held.packages["nccl"].versions == ("2.18.3",)
    assert held.claims["acme.lost"].found


def test_a_report_gives_way_to_what_a_machine_found(tmp_path: Path) -> None:
    """Where a tag holds the text, a range that stands on a report differs, and becomes one of sources, gaps and all."""
    (file := tmp_path / "kb/observations/ours.yaml").parent.mkdir(parents=True)
    file.write_text(OURS.replace("how: source", "how: report"), encoding="utf-8")
    text = 'WARN("Ring lost at rank %d", rank)'
    repository(tmp_path, {"2.18.1": text, "2.18.3": text, "2.18.5": "", "2.19.1": text, "2.20.3": ""})
    assert "its range is that of a report" in verify(tmp_path).stdout
    assert verify(tmp_path, "--write").exit_code == 0
    assert file.read_text(encoding="utf-8").endswith(
        "      - {component: nccl, until: '2.18.3', how: source}\n"
        "      - {component: nccl, since: '2.19.1', until: '2.19.1', how: source}\n"
    )


def test_names_that_no_record_holds_are_listed(tmp_path: Path) -> None:
    """What the newest tag reads, by a macro or by hand, and the knowledge base does not know is one line."""
    (file := tmp_path / "kb/observations/ours.yaml").parent.mkdir(parents=True)
    file.write_text(OURS, encoding="utf-8")
    repository(tmp_path, {"2.18.1": 'NCCL_PARAM(Ring, "RING_SIZE", 2); getenv("NCCL_RING_NAME"); x = "NCCL_NOT_READ";'})
    assert "nccl 2.18.1 reads what no record holds: NCCL_RING_NAME, NCCL_RING_SIZE\n" in verify(tmp_path).stdout


def test_a_component_that_no_package_is_known_for_is_wrong_usage() -> None:
    """The ones that can be looked into are named."""
    wrong = CliRunner().invoke(cli, ["kb", "verify", "numpy", "--lang", "en"])
    assert wrong.exit_code == 2
    assert "deepspeed" in wrong.stderr


def test_a_default_that_changed_is_told(tmp_path: Path) -> None:
    """A record that states the old one differs, and the next run names what changed since the last."""
    (file := tmp_path / "kb/settings/ours.yaml").parent.mkdir(parents=True)
    file.write_text(DEFAULT, encoding="utf-8")
    repository(tmp_path, {"2.18.3": 'NCCL_PARAM(RingWait, "RING_WAIT", 14);'})
    assert verify(tmp_path).exit_code == 0
    git = ["git", "-C", str(tmp_path / "nccl.git"), "-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "nccl.git/debug.cc").write_text('NCCL_PARAM(RingWait, "RING_WAIT", 18);')
    subprocess.run([*git, "-c", "commit.gpgsign=false", "commit", "-qam", "next"], check=True)
    subprocess.run([*git, "tag", "v2.19.1-1"], check=True)
    second = verify(tmp_path)
    assert second.exit_code == 1
    assert "the default of 'NCCL_RING_WAIT' is '18' in nccl 2.19.1" in second.stdout
    assert "the default of NCCL_RING_WAIT changed: 14 (nccl 2.18.3), 18 (nccl 2.19.1)" in second.stdout
