"""Which packages are looked into, and how pip brings them into the cache."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from distkb.catalogue.versions import is_before, release

if TYPE_CHECKING:
    from pathlib import Path

_LINUX: Final = ("manylinux_2_28_x86_64", "manylinux_2_18_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")
_MAC: Final = ("macosx_14_0_arm64",)


class Kind(NamedTuple):
    """One kind of package of a component."""

    name: str
    component: str
    distribution: str
    first: str = "0"
    """Oldest version that is looked into."""
    only: tuple[str, ...] = ()
    """Set where packages are large: just these versions, instead of the newest of each minor one."""
    platforms: tuple[str, ...] = ()
    source: bool = False
    """Whether there are no wheels, but archives of sources."""


KINDS: Final = (
    Kind("torch", "torch", "torch", "2.0", platforms=_MAC),
    Kind("torch-cuda", "torch", "torch", only=("2.0.1", "2.15.0"), platforms=_LINUX),
    Kind(
        "nccl",
        "nccl",
        "nvidia-nccl-cu12",
        only=("2.18.3", "2.23.4", "2.29.7", "2.30.3", "2.30.7"),
        platforms=_LINUX,
    ),
    Kind("accelerate", "accelerate", "accelerate", "0.12"),
    Kind("transformers", "transformers", "transformers", "4.20"),
    Kind("deepspeed", "deepspeed", "deepspeed", "0.8", source=True),
    Kind("lightning", "lightning", "lightning", "1.8"),
    Kind("trl", "trl", "trl", "0.8"),
    Kind("huggingface_hub", "huggingface_hub", "huggingface_hub", "0.10"),
    Kind("wandb", "wandb", "wandb", "0.12", platforms=_LINUX),
)
"""torch for the Mac is 60 to 140 MB and holds all but what needs CUDA; a wheel with CUDA is 500 to 900 MB, one of NCCL
200 to 320 MB, so that of these a few versions stand for all."""


class PackageError(Exception):
    """A package that pip does not bring, with pip's last words."""


def versions(kind: Kind) -> list[str]:
    """Return the versions to look into, the oldest first; asks the index for those that exist."""
    if kind.only:
        return list(kind.only)
    listed = _pip("index", "versions", kind.distribution)
    found = re.search(r"^Available versions: (.*)$", listed, re.MULTILINE)
    newest: dict[tuple[int, ...], str] = {}
    for version in (found[1] if found else "").split(", "):
        numbers = release(version)
        if numbers and re.fullmatch(r"[\d.]+(?:\.post\d+)?", version) and not is_before(version, kind.first):
            newest.setdefault(numbers[:2], version)  # pip lists the newest first
    return [newest[minor] for minor in sorted(newest)]


def package(kind: Kind, version: str, cache: Path) -> Path:
    """Return the file of one version, from the cache or from the index."""
    held = _held(kind, version, cache)
    if held is None:
        cache.mkdir(parents=True, exist_ok=True)
        form = ["--no-binary", kind.distribution] if kind.source else ["--only-binary=:all:"]
        for platform in kind.platforms:
            form += ["--platform", platform]
        if kind.platforms:
            form += ["--python-version", "3.11", "--implementation", "cp"]
        _pip("download", "--quiet", "--no-deps", "--dest", str(cache), *form, f"{kind.distribution}=={version}")
        held = _held(kind, version, cache)
    if held is None:
        raise PackageError(f"{kind.distribution} {version}")
    return held


def _held(kind: Kind, version: str, cache: Path) -> Path | None:
    stem = kind.distribution.replace("-", "_")
    system = ("macosx" if kind.platforms is _MAC else "linux") if kind.platforms else ""
    for path in sorted(cache.glob(f"{stem}-{version}*")):
        end = path.name[len(f"{stem}-{version}") :]
        if end.startswith(("-", ".tar.gz")) and (system in end or end.endswith("-any.whl")):
            return path
    return None


def _pip(*arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own interpreter's pip
        [sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise PackageError(done.stderr.strip().rpartition("\n")[2])
    return done.stdout
