"""What was found wrong with each signature's pattern, kept from one check to the next.

Asking the scanner about all patterns takes many seconds, and hardly any of them changes between two checks. A verdict
is that of a pattern, its places, its example and whether versions are named, by the versions and modules that gave it.
"""

from __future__ import annotations

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from distkb.catalogue import places
from distkb.catalogue.cache import modules
from distkb.catalogue.kept import keep, read_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from distkb.catalogue.model import Signature

Verdict = tuple[tuple[str, str], ...]
"""Each fault as the field that has it and a message."""

MOST_KEPT: Final = 20_000


def verdicts(signatures: Iterable[Signature], judge: Callable[[Signature], Verdict]) -> dict[str, Verdict]:
    """Return the verdict on every signature by its id; what was judged before is not judged again."""
    path = places.cache_directory() / f"verdicts-{_judges()}.msgpack"
    known = _known(path)
    keys = {signature.id: (_key(signature), signature) for signature in signatures}
    new = {key: signature for key, signature in keys.values() if key not in known}
    if new:
        with ThreadPoolExecutor() as pool:  # the scanner compiles without the interpreter's lock
            judged = dict(zip(new, pool.map(judge, new.values()), strict=True))
        known = (known if len(known) < MOST_KEPT else {}) | judged
        keep(path, msgspec.msgpack.encode(known))
    return {name: known.get(key, ()) for name, (key, _) in keys.items()}


def _known(path: Path) -> dict[str, Verdict]:
    try:
        return msgspec.msgpack.decode(read_kept(path) or b"\x80", type=dict[str, Verdict])
    except msgspec.DecodeError:
        return {}


def _key(signature: Signature) -> str:
    asked = msgspec.msgpack.encode((signature.pattern, signature.where, signature.example, bool(signature.seen_in)))
    return hashlib.sha256(asked).hexdigest()[:32]


def _judges() -> str:
    """Return what changes with anything that may judge otherwise."""
    own = [modules(directory) for directory in (*places.code_directories(), Path(__file__).parent)]
    versions = [metadata.version("distkb"), sys.version, _scanner()]
    return hashlib.sha256("\0".join(versions + own).encode()).hexdigest()[:24]


def _scanner() -> str:
    try:
        return metadata.version("hyperscan")
    except metadata.PackageNotFoundError:
        return ""
