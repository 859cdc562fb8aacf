"""Scripts that nobody gave are found where tracebacks and folders say, and only in the version that ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from distkb.evidence.code.near import near, with_near
from distkb.evidence.readers.scripts import read_scripts
from distkb.evidence.readers.stacks.model import Frame

TRAIN = "import helpers\nfrom pkg.data import load\n\ndef main():\n    helpers.go(load())\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a package, modules that nothing imports, and logs two folders down."""
    files = {"train.py": TRAIN, "helpers.py": "import os\n\ndef go(x): ...\n", "pkg/data.py": "def load(): ...\n"}
    for name, text in {**files, "other.py": "x = 1\n", "runs/7/rank0.log": "\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def stood(path: str, line: int, source: str) -> list[Frame]:
    """One rank at a line of `main`."""
    return [Frame("main", path, line, source)]


def names(found: tuple[Path, ...], root: Path) -> set[str]:
    """Paths below the project."""
    return {path.relative_to(root).as_posix() for path in found}


@pytest.mark.parametrize(
    "path",
    ["{root}/train.py", "{root}/runs/../train.py", "/home/user/project/train.py", "train.py", "C:\\jobs\\train.py"],
)
def test_a_script_is_found_by_its_path_or_above_the_logs_with_what_it_imports(project: Path, path: str) -> None:
    """Nothing that it does not import is read."""
    found = near(stood(path.format(root=project), 5, "helpers.go(load())"), [project / "runs/7/rank0.log"])
    assert names(found, project) == {"train.py", "helpers.py", "pkg/data.py"}


def test_the_script_in_which_ranks_stand_is_read_beside_a_launcher_that_was_given(project: Path) -> None:
    """A launcher names no module of the training, and what is read is one project."""
    (project / "launch.py").write_text("import subprocess\n\nsubprocess.run(['python', 'train.py'], check=True)\n")
    given = read_scripts([project / "launch.py"]).project
    both, _ = with_near(given, stood("train.py", 5, ""), [project / "launch.py"])
    assert both is not None
    assert {script.path.name for script in both.scripts} == {"launch.py", "train.py", "helpers.py", "data.py"}
    assert with_near(both, stood("train.py", 5, ""), [project / "launch.py"])[0] is both


@pytest.mark.parametrize(("line", "source"), [(5, "trainer.fit(model)"), (4, "helpers.go(load())"), (99, "")])
def test_another_version_of_the_script_is_not_read(project: Path, line: int, source: str) -> None:
    """A line that is not there as it was quoted shows it."""
    assert not near(stood("/home/user/train.py", line, source), [project / "runs"])


@pytest.mark.parametrize("path", ["../../train.py", "/etc/passwd", "<string>", "train.pyc", "", "\0.py"])
def test_nothing_but_scripts_is_looked_for(project: Path, path: str) -> None:
    """Names from a log lead to no other file, and none is an error."""
    assert not near(stood(path, 5, ""), [project])
