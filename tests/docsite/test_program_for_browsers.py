"""What a browser gets of the program: all that it imports, nothing that it cannot use, and the very archives named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from shelf import library

from distkb.catalogue.compiled import compile_catalogue
from distkb.docsite import runtime

DIAGNOSES = """
import json, sys
sys.path.insert(0, sys.argv[1])
from distkb.browser.session import PageSession
session = PageSession(sys.argv[1], "ko")
event = session.read(json.dumps({"names": ["rank0.log", "train.py", "job.yaml"]}), sys.argv[2])
shown = json.loads(session.show(f"[{event}]"))
assert shown["entries"] and shown["moves"] and session.words(), shown
left = {name.split(".")[1] for name in sys.modules if name.startswith("distkb.")}
print(json.dumps([shown["answer"], shown["skipped"], sorted(left & set(sys.argv[3:]))]))
"""


@pytest.mark.slow
def test_the_modules_of_the_page_need_no_others(tmp_path: Path) -> None:
    """Beside msgspec and the standard library, what is packed reads logs, a script and a configuration by itself."""
    program, given = tmp_path / "program", tmp_path / "given"
    catalogue = compile_catalogue(library().catalogue, {"search": bytes(library().search)})
    for name, content in [*runtime.modules(), ("catalogue", catalogue)]:
        (program / name).parent.mkdir(parents=True, exist_ok=True)
        (program / name).write_bytes(content)
    shutil.copytree(Path(msgspec.__file__).parent, program / "msgspec")
    given.mkdir()
    (given / "rank0.log").write_text(
        "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    )
    (given / "train.py").write_text("import torch.distributed as dist\nif dist.get_rank() == 0:\n    dist.barrier()\n")
    (given / "job.yaml").write_text("fsdp_config:\n  fsdp_version: 2\n")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", DIAGNOSES, program, given, *runtime.LEFT_OUT],
        capture_output=True,
        text=True,
        check=False,
        env={},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said, skipped, left = msgspec.json.decode(done.stdout)
    assert said
    assert (skipped, left) == ([], [])


def test_archives_are_taken_as_they_are_named_or_not_at_all(tmp_path: Path) -> None:
    """None of them: no program; another content under the name: an error that names the file."""
    assert runtime.archives(tmp_path) is None
    for name in runtime.DIGESTS:
        (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(runtime.DamagedRuntimeError, match="pyodide"):
        runtime.archives(tmp_path)


@pytest.mark.slow
def test_a_site_without_the_archives_leads_to_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says so, in place of a box that does nothing."""
    from distkb.docsite import build

    shutil.copytree(build.sources(), tmp_path / "site", ignore=shutil.ignore_patterns("runtime"))
    monkeypatch.setattr(build, "sources", lambda: tmp_path / "site")
    made = dict(build.rendered(library()))
    assert not any("diagnose-engine" in path for path in made)
    page = made["ko/diagnose.html"].decode()
    assert "distkb diagnose logs/" in page
    assert "<textarea" not in page
