"""Where what was read leaves the readers for whoever shows it: no text passes with a secret or a control character."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from distkb.evidence.observation import Closeup, Evidence, Observation, Quote, RankState, Skipped
from distkb.evidence.text.clean import mask, mask_value, plain


def fit_to_show(evidence: Evidence) -> Evidence:
    """Return the evidence with every text of it masked and plain, whichever reader it came from."""
    return msgspec.structs.replace(
        evidence,
        observations=tuple(map(fit_observation, evidence.observations)),
        alike={cause: _quote(quote) for cause, quote in evidence.alike.items()},
        notes=tuple(map(_quote, evidence.notes)),
        ranks=tuple(map(_rank, evidence.ranks)),
        runs=tuple(msgspec.structs.replace(run, name=_path(run.name)) for run in evidence.runs),
        skipped=tuple(map(_skipped, evidence.skipped)),
        closeup=None if evidence.closeup is None else _closeup(evidence.closeup),
    )


def _closeup(seen: Closeup) -> Closeup:
    """Return what was seen from near with every text of it masked and plain, paths as such."""
    return msgspec.convert(fit(msgspec.to_builtins(seen)), Closeup)


def fit(value: Any, name: str = "") -> Any:
    """Return plain data with every text in it masked and plain; `name` is what a text is the value of."""
    if isinstance(value, str):
        return mask_value(name, _text(value)) if name else _text(value)
    if isinstance(value, dict):
        return {_text(str(key)): fit(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fit(item, name) for item in value]
    return value


@lru_cache(maxsize=4096)
def _text(text: str) -> str:
    return mask(plain(text))


@lru_cache(maxsize=4096)
def _path(path: str) -> str:
    """Return a name without a secret and with a mark for bytes that are no text; what else is odd in it stays."""
    return mask(path.encode("utf-8", "replace").decode("utf-8"))


def fit_observation(one: Observation) -> Observation:
    """Return one observation with every text of it masked and plain."""
    if not one.quotes and not one.values and not one.commands:
        return one
    values = {name: mask_value(name, plain(value)) for name, value in one.values.items()}
    named = values.get("name") or values.get("key") or values.get("option")
    if named and "value" in values:
        values["value"] = mask_value(named, values["value"])
    commands = tuple("\n".join(map(_text, command.split("\n"))) for command in one.commands)
    return msgspec.structs.replace(one, quotes=tuple(map(_quote, one.quotes)), values=values, commands=commands)


def _quote(quote: Quote) -> Quote:
    return msgspec.structs.replace(
        quote, text=_text(quote.text), path=None if quote.path is None else _path(quote.path)
    )


def _rank(state: RankState) -> RankState:
    if not state.place and state.last is None and not state.sources:
        return state
    return msgspec.structs.replace(
        state,
        place=_text(state.place),
        last=None if state.last is None else _quote(state.last),
        sources=tuple(map(_path, state.sources)),
    )


def _skipped(item: Skipped) -> Skipped:
    return msgspec.structs.replace(item, path=_path(item.path), detail=_text(item.detail))
