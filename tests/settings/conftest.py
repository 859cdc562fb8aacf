"""The built-in settings and timers, loaded once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import built_in
import pytest

from distkb.catalogue.model import Catalogue
from distkb.evidence.observation import Observation
from distkb.settings.lint import lint

Lint = Callable[..., dict[str, list[str]]]


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    """Everything that distkb knows."""
    return built_in.catalogue()


@pytest.fixture(scope="session")
def observe(catalogue: Catalogue) -> Callable[..., list[Observation]]:
    """Lint an environment; versions are keyword arguments."""

    def run(environment: Mapping[str, str], **versions: str | None) -> list[Observation]:
        return lint(catalogue.settings, catalogue.names, environment, versions)

    return run


@pytest.fixture(scope="session")
def linted(observe: Callable[..., list[Observation]]) -> Lint:
    """Lint an environment and return name → what was found, the ids without `settings.`."""

    def run(environment: Mapping[str, str], **versions: str | None) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for observation in observe(environment, **versions):
            found.setdefault(observation.values["name"], []).append(observation.id.removeprefix("settings."))
        return found

    return run
