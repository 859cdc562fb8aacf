"""What the catalogue names exists: variables somebody reads, attributes the installed packages have."""

from __future__ import annotations

import catalogue_names as names
import pytest


def test_every_variable_is_read_by_somebody_or_said_not_to_be() -> None:
    """No entry or guide names a variable or constant that neither a record nor an installed source knows."""
    assert [(name.name, name.used_by) for name in names.variables() if not name.known_by] == []


@pytest.mark.slow
def test_every_api_name_exists_in_the_installed_package() -> None:
    """Each `torch.…` and `accelerate.…` can be looked up, or is listed with the version that has it."""
    assert [(name.name, name.used_by) for name in names.apis() if not name.known_by] == []


@pytest.mark.slow
def test_what_is_said_to_be_unread_is_not_read() -> None:
    """No installed source reads a variable whose record says that nothing does."""
    assert names.unread_but_found() == []


def test_what_torch_is_said_to_read_stands_in_its_sources() -> None:
    """Each variable that a record ascribes to the current torch or accelerate is in their files."""
    assert names.claimed_but_absent() == []


@pytest.mark.slow
def test_the_list_of_names_from_elsewhere_is_not_longer_than_needed() -> None:
    """A name that is known otherwise, or used nowhere, has no place in the list."""
    used = {name.name for name in (*names.variables(), *names.apis())}
    used |= {setting.name for setting in names.catalogue().settings}
    assert sorted(set(names.elsewhere()) - used) == []
