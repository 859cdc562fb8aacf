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
        """Compile before the wheel is written; for an editable installation into `build/`, for its first start."""
        root = Path(self.root)
        sys.path.insert(0, str(root / "assistant"))
        from distkb.catalogue.cache import PRECOMPILED, build, fingerprint
        from distkb.catalogue.kept import replace
        from distkb.catalogue.places import prepared
        from distkb.catalogue.problem import CatalogueError
        from distkb.knowledge import build_extra

        editable = version == "editable"
        try:
            data = build([root / "kb"], build_extra, fingerprint([root / "kb"]) if editable else b"")
        except CatalogueError as error:
            if editable:  # whoever repairs the knowledge base needs the program for it
                return
            raise SystemExit("\n".join(problem.shown(root) for problem in error.problems)) from None
        if editable:
            for path in prepared(PRECOMPILED):
                replace(path, data)
            return
        self._work = tempfile.TemporaryDirectory(prefix="distkb-build-")
        compiled = Path(self._work.name) / PRECOMPILED
        compiled.write_bytes(data)
        build_data["force_include"][str(compiled)] = f"distkb/_kb/{PRECOMPILED}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was compiled for the wheel."""
        if version != "editable":
            self._work.cleanup()
