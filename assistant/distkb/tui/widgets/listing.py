"""A list that is written anew without losing its place."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widgets import OptionList
from textual.widgets.option_list import Option


def refill(listing: OptionList, options: Iterable[Option], *, highlighted: int | None = None) -> None:
    """Replace the options of a list; the highlighted row and what is in sight stay where they are.

    `highlighted` is the row to highlight where none is highlighted yet.
    """
    at, top = listing.highlighted, listing.scroll_offset.y
    listing.clear_options()
    listing.add_options(options)
    wanted = highlighted if at is None else at
    if wanted is None or not listing.option_count:
        return
    wanted = min(wanted, listing.option_count - 1)
    listing.highlighted = wanted
    if at is not None:
        listing.scroll_to(y=top, animate=False)


def room(listing: OptionList) -> int:
    """Return the columns that a row of a list has."""
    return max(20, listing.scrollable_content_region.width)
