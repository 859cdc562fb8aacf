"""Which packages and tags of repositories are looked into, and how pip and git bring them into the cache."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from distkb.catalogue.versions import is_before, release
from distkb.verify.look import is_read

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
    tag: str = ""
    """Set where `distribution` is a git repository: which of its tags are releases, with the version in groups."""
    each: bool = False
    """Whether every release is looked into, and not the newest of each minor version."""
    declares: bool = True
    """Whether its sources are read for declarations and defaults; not where another kind has the same sources, or where
    old ones declare in another way."""


KINDS: Final = (
    Kind("torch", "torch", "torch", "2.0", platforms=_MAC),
    Kind("torch-cuda", "torch", "torch", "2.0", platforms=_LINUX, declares=False),
    Kind("accelerate", "accelerate", "accelerate", "0.12"),
    Kind("transformers", "transformers", "transformers", "4.20"),
    Kind("deepspeed", "deepspeed", "deepspeed", "0.8", source=True),
    Kind(
        "deepspeed-before",
        "deepspeed",
        "https://github.com/deepspeedai/DeepSpeed",
        tag=r"v(0\.[1-7]\.\d+)",
        declares=False,
    ),
    Kind("lightning", "lightning", "lightning", "1.8"),
    Kind("trl", "trl", "trl", "0.8"),
    Kind("datasets", "datasets", "datasets", "2.14"),
    Kind("megatron-core", "megatron-core", "https://github.com/NVIDIA/Megatron-LM", "0.10", tag=r"core_v([\d.]+)"),
    Kind("huggingface_hub", "huggingface_hub", "huggingface_hub", "0.10"),
    Kind("wandb", "wandb", "wandb", "0.12", platforms=_LINUX),
    Kind("nccl", "nccl", "https://github.com/NVIDIA/nccl", "2.3", tag=r"v([\d.]+)-\d+", each=True),
    Kind("aws-ofi-nccl", "aws-ofi-nccl", "https://github.com/aws/aws-ofi-nccl", tag=r"v([\d.]+)(?:-?aws)?", each=True),
    Kind("libfabric", "libfabric", "https://github.com/ofiwg/libfabric", "1.8", tag=r"v([\d.]+)"),
    Kind("slurm", "slurm", "https://github.com/SchedMD/slurm", "17.11", tag=r"slurm-(\d+)-(\d+)-(\d+)-\d+"),
)
"""torch for the Mac is 60 to 140 MB and holds all but what needs CUDA; a wheel with CUDA is 500 to 900 MB. Of the
repositories, sources of each tag are 1 to 30 MB."""


class PackageError(Exception):
    """A package that pip does not bring, with pip's last words."""


def versions(kind: Kind, cache: Path) -> list[str]:
    """Return the versions to look into, the oldest first; asks the index, or the repository, for those that exist."""
    if kind.only:
        return list(kind.only)
    if kind.tag:
        listed = sorted(_tags(kind, cache), key=lambda version: release(version) or (), reverse=True)
    else:
        answer = _pip("index", "versions", kind.distribution)
        found = re.search(r"^Available versions: (.*)$", answer, re.MULTILINE)
        listed = (found[1] if found else "").split(", ")  # pip lists the newest first
    newest: dict[tuple[int, ...], str] = {}
    for version in listed:
        numbers = release(version)
        if numbers and re.fullmatch(r"[\d.]+(?:\.post\d+)?", version) and not is_before(version, kind.first):
            newest.setdefault(numbers if kind.each else numbers[:2], version)
    return [newest[numbers] for numbers in sorted(newest)]


def package(kind: Kind, version: str, cache: Path) -> Path:
    """Return the file of one version, from the cache, the index or the repository."""
    held = _held(kind, version, cache)
    if held is None:
        cache.mkdir(parents=True, exist_ok=True)
        (_archive if kind.tag else _download)(kind, version, cache)
        held = _held(kind, version, cache)
    if held is None:
        raise PackageError(f"{kind.distribution} {version}")
    return held


def _held(kind: Kind, version: str, cache: Path) -> Path | None:
    if kind.tag:
        path = cache / f"{kind.name}-{version}.tag.tar"
        return path if path.is_file() else None
    stem = kind.distribution.replace("-", "_")
    system = ("macosx" if kind.platforms is _MAC else "linux") if kind.platforms else ""
    for path in sorted(cache.glob(f"{stem}-{version}*")):
        end = path.name[len(f"{stem}-{version}") :]
        if end.startswith(("-", ".tar.gz")) and (system in end or end.endswith("-any.whl")):
            return path
    return None


def _download(kind: Kind, version: str, cache: Path) -> None:
    form = ["--no-binary", kind.distribution] if kind.source else ["--only-binary=:all:"]
    for platform in kind.platforms:
        form += ["--platform", platform]
    if kind.platforms:
        form += ["--python-version", "3.11", "--implementation", "cp"]
    _pip("download", "--quiet", "--no-deps", "--dest", str(cache), *form, f"{kind.distribution}==={version}")


def _tags(kind: Kind, cache: Path) -> dict[str, str]:
    """Return the tags of a repository by the version that they are of; clones it where it is not in the cache."""
    repository = cache / f"{kind.name}.git"
    if not repository.exists():
        cache.mkdir(parents=True, exist_ok=True)
        _run("git", "clone", "--quiet", "--bare", "--filter=blob:none", kind.distribution, str(repository))
    tags: dict[str, str] = {}
    for tag in _run("git", "-C", str(repository), "tag", "--sort=version:refname").split():
        if found := re.fullmatch(kind.tag, tag):
            tags[".".join(found.groups()).strip(".")] = tag
    return tags


def _archive(kind: Kind, version: str, cache: Path) -> None:
    part, tag = cache / f"{kind.name}-{version}.part", _tags(kind, cache)[version]
    git = ("git", "-C", str(cache / f"{kind.name}.git"))
    names = [name for name in _run(*git, "ls-tree", "-r", "--name-only", tag).split("\n") if is_read(name)]
    _run(*git, "archive", f"--output={part.resolve()}", "--format=tar", tag, *names)
    part.rename(cache / f"{kind.name}-{version}.tag.tar")


def _pip(*arguments: str) -> str:
    return _run(sys.executable, "-m", "pip", *arguments)


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - git and our own pip
    except OSError as error:
        raise PackageError(str(error)) from error
    if done.returncode:
        raise PackageError(done.stderr.strip().rpartition("\n")[2])
    return done.stdout
