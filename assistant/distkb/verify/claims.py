"""What of the catalogue can be looked up in a package: fixed texts of log lines, and names of settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from distkb.evidence.scanner.literals import required_cases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distkb.catalogue.model import Catalogue

_LONG: Final = 18
_SHORT: Final = 12
"""Characters of a text that stands for a message; a shorter one does if it is more than ordinary words."""
_BEFORE = re.compile(
    r"(?:\w*(?:Error|Exception|Warning): ?|NCCL (?:WARN|INFO) |NET/OFI |(?:srun|slurmstepd): |error: |\*\*\* )+"
)
"""What Python, or a function that prints messages, puts before each of them."""


DECLARED: Final = ("training-arguments", "lightning.Trainer", "deepspeed-config.zero_optimization")
"""Settings that are found where they are declared, by their whole id."""


class Claim(NamedTuple):
    """A record of the catalogue with what to look for."""

    id: str
    components: tuple[str, ...]
    fixed: str
    """The pattern or the name that it was made from."""
    wordings: tuple[tuple[str, ...], ...]
    """Of each wording the pieces that a message with it holds, in order."""
    any_case: bool = False
    name: bool = False
    """Whether it is a name, which is met as a whole word only."""


def claims(catalogue: Catalogue, components: Sequence[str]) -> list[Claim]:
    """Return the claims about these components that can be looked up."""
    found = [*_signatures(catalogue), *_settings(catalogue), *_names(catalogue)]
    chosen = (
        claim._replace(components=tuple(sorted(set(claim.components) & set(components))))
        for claim in found
        if claim.wordings
    )
    return [claim for claim in chosen if claim.components]


def _signatures(catalogue: Catalogue) -> Iterator[Claim]:
    for signature in catalogue.signatures:
        if "log" in signature.where:
            yield Claim(
                id=signature.id,
                components=tuple(version.component for version in signature.seen_in),
                fixed=signature.pattern,
                wordings=_wordings(signature.pattern),
                any_case="(?i" in signature.pattern,
            )


def _wordings(pattern: str) -> tuple[tuple[str, ...], ...]:
    found: dict[tuple[str, ...], None] = {}
    for case in required_cases(pattern) or []:
        pieces = tuple(rest for piece in case if (rest := _bare(piece)))
        longest = max(pieces, key=len, default="")
        plain = re.fullmatch(r"[A-Za-z ]+", longest) is not None
        if len(longest) >= _SHORT and (not plain or sum(map(len, pieces)) >= _LONG):
            found[pieces] = None
    return tuple(found)


def _bare(piece: str) -> str:
    before = _BEFORE.match(piece)
    return piece[before.end() :] if before else piece


def _settings(catalogue: Catalogue) -> Iterator[Claim]:
    for setting in catalogue.settings:
        if setting.kind == "variable":
            names = [setting.name]
        elif setting.name.startswith("--"):
            names = [setting.name, "--" + setting.name[2:].replace("-", "_"), "--" + setting.name[2:].replace("_", "-")]
        elif setting.id.rpartition(".")[0] in DECLARED:
            names = [setting.id]
        else:
            continue  # other keys and arguments have ordinary names, which stand for other things elsewhere
        yield Claim(
            id=setting.id,
            components=tuple(version.component for version in setting.read_by),
            fixed=setting.id,
            wordings=tuple((name,) for name in dict.fromkeys(names)),
            name=True,
        )


def _names(catalogue: Catalogue) -> Iterator[Claim]:
    for group in catalogue.names:
        for name in group.names:
            if not name.endswith("*"):
                identity = f"{group.id}:{name}"
                yield Claim(identity, (group.component,), fixed=name, wordings=((name,),), name=True)
