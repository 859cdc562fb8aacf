"""What the newest package of a component has that the knowledge base does not know yet, or has lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from distkb.catalogue.versions import is_after
from distkb.verify.claims import Claim
from distkb.verify.look import Finder, of_python, parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from distkb.catalogue.model import Catalogue

_SHORTEST: Final = 4
"""Characters of a piece of a message that is looked for."""
_NAME: Final = rb"(?:NCCL|TORCH|TORCHELASTIC|FI|OFI_NCCL)_[A-Z0-9_]*[A-Z0-9]"
_READ = re.compile(
    rb"(?:getenv|[gG]etEnv\w*|environ(?:\.get|\.setdefault)?|getCvar\w*|get_env|param_get\w*)\s*[(\[]\s*f?[\"'](%s)[\"']"
    % _NAME
    + rb"|[\"'](%s)[\"']\s+(?:not )?in os\.environ| (%s) \n" % (_NAME, _NAME)
)
"""A name that a source reads from the environment, or that a macro puts together."""
_HELD = re.compile(rb"\0((?:TORCH_NCCL|TORCH_FR|NCCL)_[A-Z0-9_]*[A-Z0-9])\0")
"""A name that stands by itself in a compiled part."""
_CONSTANTS: Final = re.compile(
    r"NCCL_(?:ALGO|CTA_POLICY|CHECK|PROTO|OP|TYPE|COMM|CONFIG|NET|PTR|INIT|CALL)_\w*(?:MAX|UNDEF\w*|DEFAULT|ZERO|TIMEOUT)|\w+_VERSION(?:_CODE)?"
)


def unknown_names(path: Path, catalogue: Catalogue) -> list[str]:
    """Return the names of variables in one package that no setting and no list of names holds."""
    listed = {name for group in catalogue.names for name in group.names}
    known = listed | {setting.name for setting in catalogue.settings}
    prefixes = tuple(name.removesuffix("*") for name in listed if name.endswith("*"))
    found = {name.decode() for name in _names(path)}
    return sorted(name for name in found - known if not name.startswith(prefixes) and not _CONSTANTS.fullmatch(name))


def gone_messages(path: Path, component: str, version: str, catalogue: Catalogue) -> list[str]:
    """Return the messages listed for a component that a package of it lacks, unless they are of a newer version."""
    own = [library for library in catalogue.messages if library.component == component]
    listed = [library for library in own if not is_after(library.version, version)]
    texts = sorted({text for library in listed for of_cause in library.messages.values() for text in of_cause})
    claims = [Claim(text, (component,), text, (_pieces(text),)) for text in texts]
    found = Finder(claims).look(path) if claims else {}
    return [claim.id for claim in claims if found.get((claim.id, claim.wordings[0])) != "whole"]


def _pieces(message: str) -> tuple[str, ...]:
    pieces = [of_python(piece.strip().encode()).decode() for piece in message.split("{}")]
    return tuple(piece for piece in pieces if len(piece) >= _SHORTEST) or (max(pieces, key=len),)


def _names(path: Path) -> Iterator[bytes]:
    for compiled, content in parts(path):
        for match in (_HELD if compiled else _READ).finditer(content):
            yield next(group for group in match.groups() if group)
