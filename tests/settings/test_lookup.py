"""A setting is found by what a person types."""

from __future__ import annotations

import pytest

from distkb.catalogue.model import Catalogue
from distkb.settings.lookup import find, known_name, nearest


@pytest.mark.parametrize(
    ("typed", "identity"),
    [
        ("NCCL_TIMEOUT", "NCCL_TIMEOUT"),
        ("nccl_timeout", "NCCL_TIMEOUT"),
        (" $NCCL_DEBUG ", "NCCL_DEBUG"),
        ("--rdzv-endpoint", "torchrun.--rdzv-endpoint"),
        ("rdzv_endpoint", "torchrun.--rdzv-endpoint"),
        ("torchrun.--nproc-per-node", "torchrun.--nproc-per-node"),
        ("--nproc_per_node", "torchrun.--nproc-per-node"),
        ("python.init_process_group.timeout", "python.init_process_group.timeout"),
    ],
)
def test_a_setting_is_found(catalogue: Catalogue, typed: str, identity: str) -> None:
    """By its id or its name, in any case, a flag with or without dashes."""
    assert identity in [setting.id for setting in find(catalogue.settings, typed)]


@pytest.mark.parametrize("typed", ["", "  ", "D21", "NCCL_", "no-such-thing", "\x1b[31m", "x" * 10_000])
def test_what_is_no_setting_is_not_found(catalogue: Catalogue, typed: str) -> None:
    """Nothing is found for what no setting is called."""
    assert find(catalogue.settings, typed) == []


def test_an_id_wins_over_names(catalogue: Catalogue) -> None:
    """Every record is found by its id, alone."""
    for setting in catalogue.settings:
        assert [found.id for found in find(catalogue.settings, setting.id)] == [setting.id]


def test_a_listed_name_is_known(catalogue: Catalogue) -> None:
    """Names without a record are known with the versions that read them."""
    group = known_name(catalogue.names, "nccl_sym_tma_enable")
    assert group is not None
    assert (group.component, group.since) == ("nccl", "2.30.3")
    assert known_name(catalogue.names, "NCCL_TIMEOUT") is None


@pytest.mark.parametrize(
    ("typed", "near"),
    [("NCCL_TIMEOT", "NCCL_TIMEOUT"), ("torch_nccl_blocking_wiat", "TORCH_NCCL_BLOCKING_WAIT"), ("QQQQ_ZZZZ", None)],
)
def test_the_nearest_name(catalogue: Catalogue, typed: str, near: str | None) -> None:
    """A typo leads to the name that was meant, a stranger to nothing."""
    assert nearest(catalogue.settings, catalogue.names, typed) == near


def test_too_long_a_name_is_not_compared(catalogue: Catalogue) -> None:
    """No effort is spent on a name that cannot be one."""
    assert nearest(catalogue.settings, catalogue.names, "NCCL_" * 1000) is None
