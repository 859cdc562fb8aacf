"""Build hook: puts the compiled catalogue into the wheel, so that an installed copy reads no YAML to start."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CatalogueHook(BuildHookInterface[Any]):
    """Compiles `kb/` and adds the result to the files of a wheel; a broken knowledge base stops the build."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is written; an editable installation compiles on first use instead."""
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "assistant"))
        from distkb.catalogue.cache import PRECOMPILED, build
        from distkb.catalogue.problem import CatalogueError
        from distkb.knowledge import build_extra

        try:
            data = build([root / "kb"], build_extra)
        except CatalogueError as error:
            raise SystemExit("\n".join(problem.shown(root) for problem in error.problems)) from None
        self._work = tempfile.TemporaryDirectory(prefix="distkb-build-")
        compiled = Path(self._work.name) / PRECOMPILED
        compiled.write_bytes(data)
        build_data["force_include"][str(compiled)] = f"distkb/_kb/{PRECOMPILED}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was compiled for the wheel."""
        if version != "editable":
            self._work.cleanup()
