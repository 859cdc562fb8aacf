"""Where evidence leaves the readers for whoever shows it: no text passes with a secret or a control character."""

from __future__ import annotations

import msgspec

from distkb.evidence.observation import Evidence, Observation, Quote
from distkb.evidence.text.clean import mask, mask_value, plain


def fit_to_show(evidence: Evidence) -> Evidence:
    """Return the evidence with every text of it masked and plain, whichever reader it came from."""
    return msgspec.structs.replace(
        evidence,
        observations=tuple(map(_observation, evidence.observations)),
        notes=tuple(map(_quote, evidence.notes)),
        skipped=tuple(msgspec.structs.replace(item, detail=mask(plain(item.detail))) for item in evidence.skipped),
    )


def _observation(one: Observation) -> Observation:
    if not one.quotes and not one.values:
        return one
    values = {name: mask_value(name, plain(value)) for name, value in one.values.items()}
    named = values.get("name") or values.get("key") or values.get("option")
    if named and "value" in values:
        values["value"] = mask_value(named, values["value"])
    return msgspec.structs.replace(one, quotes=tuple(map(_quote, one.quotes)), values=values)


def _quote(quote: Quote) -> Quote:
    text = mask(plain(quote.text))
    return quote if text == quote.text else msgspec.structs.replace(quote, text=text)
