"""Reading scripts: whatever the files contain, one clear line each and no exception."""

from __future__ import annotations

import ast
import sys
import sysconfig
from pathlib import Path

import pytest

from distkb.evidence.readers.scripts import find_scripts, read_scripts
from distkb.evidence.readers.scripts.hit import ScriptContext
from distkb.evidence.readers.scripts.interpreter import MAX_STEPS
from distkb.evidence.readers.scripts.source import MAX_BYTES

STDLIB = Path(sysconfig.get_paths()["stdlib"])
START = "import torch.distributed as dist\n"


def skipped(tmp_path: Path, name: str, data: bytes) -> list[str]:
    """Return the codes for one file of these bytes."""
    file = tmp_path / name
    file.write_bytes(data)
    return [s.code for s in read_scripts([file]).skipped]


MODULES = {
    "pyproject.toml": "",
    "src/train.py": "import engine.loop, torch\nfrom models import *\nfrom broken import x\nimport tools.extra\n",
    "src/engine/loop.py": "from . import steps\nfrom ..outside import z\n",
    "src/engine/steps.py": START,
    "src/models/__init__.py": "from .net import Net\n",
    "src/models/net.py": "import torch\n",
    "src/broken.py": "def (:\n",
    "src/torch_free.py": START,
    "tools/extra.py": "y = 1\n",
}


def test_the_modules_of_the_project_that_a_script_imports_are_read_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside it, in packages and in the folder of the project; not what it does not import, nor what is broken."""
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    reading = read_scripts([tmp_path / "src/train.py"], follow=True)
    assert reading.project is not None
    found = {script.path.relative_to(tmp_path).as_posix() for script in reading.project.scripts}
    assert found == {"src/train.py", "src/engine/loop.py", "src/engine/steps.py", "src/models/__init__.py",
                     "src/models/net.py", "tools/extra.py"}  # fmt: skip
    assert not reading.skipped
    monkeypatch.chdir(tmp_path / "src/engine")
    for given in (["../train.py"], ["loop.py", str(tmp_path / "src/train.py"), "../train.py"]):
        again = read_scripts([Path(name) for name in given], follow=True).project
        assert again is not None
        names = [script.path.resolve().relative_to(tmp_path.resolve()).as_posix() for script in again.scripts]
        assert sorted(names) == sorted(found), "each file once, whichever way it is reached"
    alone = read_scripts([tmp_path / "src/train.py"]).project
    assert alone is not None
    assert len(alone.scripts) == 1


LOADS = """
import yaml
from transformers import AutoModelForCausalLM

cfg = yaml.safe_load(open("conf/run.yaml"))
model = AutoModelForCausalLM.from_pretrained(cfg["model"]["path"], **cfg["model"]["given"])
model(cfg).loss.backward()
"""
SPREAD = "model:\n  path: m\n  given: {device_map: balanced}\n"


def _found(folder: Path, files: dict[str, str]) -> set[str]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return {found.id for found in read_scripts([folder / "run.py"], follow=True).observations}


def test_settings_files_beside_a_script_say_what_it_reads_from_them(tmp_path: Path) -> None:
    """A value counts where the script reads such files and all of them agree on it."""
    turns = "script.layers-take-turns"
    named = LOADS.replace('**cfg["model"]["given"]', 'device_map=cfg["model"]["given"]["device_map"]')
    quantised = SPREAD.replace("balanced", "balanced, load_in_4bit: true")
    assert turns in _found(tmp_path / "one", {"run.py": LOADS, "conf/run.yaml": SPREAD})
    assert turns in _found(tmp_path / "named", {"run.py": named, "conf/run.yaml": SPREAD})
    assert turns not in _found(tmp_path / "small", {"run.py": LOADS, "conf/run.yaml": quantised})
    other = {"run.py": LOADS, "conf/run.yaml": SPREAD, "conf/other.yml": SPREAD.replace("balanced", "null")}
    assert turns not in _found(tmp_path / "two", other)
    assert turns not in _found(tmp_path / "broken", {"run.py": LOADS, "conf/run.yaml": SPREAD + " ]"})
    unread = LOADS.replace("import yaml", "").replace("yaml.safe_load", "")
    assert turns not in _found(tmp_path / "unread", {"run.py": unread, "conf/run.yaml": SPREAD})


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has no reader of TOML")
def test_settings_in_toml(tmp_path: Path) -> None:
    """They count like those in YAML."""
    reads = LOADS.replace("yaml", "tomllib")
    text = '[model]\npath = "m"\ngiven = { device_map = "auto" }\n'
    assert "script.layers-take-turns" in _found(tmp_path, {"run.py": reads, "conf/run.toml": text})


GIVEN_ON = {
    "train.py": "from engine import Place, number_of\nimport torch\nimport engine\n"
    "torch.device('cuda', Place.of_launcher().number)\n"
    "def on_gpu(net):\n    return net.to(engine.number_of())\n",
    "engine/__init__.py": "from .inner import *\nfrom engine.inner.place import Place\n",
    "engine/inner/__init__.py": "from .place import number_of\n",
    "engine/inner/place.py": "import os\nfrom dataclasses import dataclass\nimport torch.distributed as dist\n"
    "@dataclass\nclass Place:\n    number: int\n    @classmethod\n    def of_launcher(cls):\n"
    "        return cls(int(os.environ['RANK']))\n"
    "def number_of():\n    return dist.get_rank()\n",
}


def test_what_a_package_gives_on_from_its_files_is_found_there(tmp_path: Path) -> None:
    """Classes and functions are followed through the `__init__.py` that imports them; a circle of imports ends."""
    files = {**GIVEN_ON, "a.py": "from b import x\nx()\n", "b.py": "from a import x\nx()\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    reading = read_scripts([tmp_path / name for name in files])
    assert [(o.id, o.quotes[0].line) for o in reading.observations if o.source == "probe"] == [
        ("script.device-from-global-rank", 4),
        ("script.device-from-global-rank", 6),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["asyncio", "email", "unittest", "multiprocessing", "json", "concurrent", "."])
def test_the_standard_library_holds_no_finding(folder: str) -> None:
    """Every module of the standard library is read without an exception and without a finding."""
    files = sorted((STDLIB / folder).glob("*.py"))[:120]
    assert files
    reading = read_scripts(files)
    assert not reading.observations
    assert not reading.skipped


@pytest.mark.slow
def test_rules_run_over_code_that_has_nothing_to_do_with_them(tmp_path: Path) -> None:
    """With torch imported beside it, the standard library still gives no finding and no exception."""
    marker = tmp_path / "train.py"
    marker.write_text(START)
    files = [marker, *sorted(STDLIB.glob("*.py"))[:90]]
    reading = read_scripts(files)
    assert not reading.observations
    assert reading.clear


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("old.py", b"print 'hello'\n", "not-python"),
        ("notebook.py", b"%matplotlib inline\nimport torch\n", "not-python"),
        ("binary.py", b"\x00\x01\x02" * 100, "binary"),
        ("blank.py", b"\n  \n", "empty"),
        ("large.py", b"#" * (MAX_BYTES + 1), "too-large-script"),
        ("null.py", b"x = 1\n\x00", "binary"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, name: str, data: bytes, code: str) -> None:
    """A file that is no Python of this interpreter gives its own code."""
    assert skipped(tmp_path, name, data) == [code]


def test_missing_files_and_folders_are_said(tmp_path: Path) -> None:
    """A path that is not there, and a folder in the place of a file, are skipped by name."""
    reading = read_scripts([tmp_path / "absent.py", tmp_path])
    assert [s.code for s in reading.skipped] == ["missing", "not-a-file"]


@pytest.mark.parametrize(
    "text",
    [
        "if rank == 0:\n    dist.barrier()\n" + "elif x:\n    pass\n" * 3000,
        "x = " + "+".join(["a"] * 5000) + "\n",
        "x = " + "(" * 90 + "1" + ")" * 90 + "\n",
        "x = " + "not " * 900 + "rank\nif x:\n    dist.barrier()\n",
        "x = a" + ".b" * 900 + "\n",
        "x = f" + "(1)" * 900 + "\n",
        "a = b\nb = a\nif a == 0:\n    dist.barrier()\n",
        "def f():\n    g()\ndef g():\n    f()\nif rank == 0:\n    f()\n",
        "class A(B):\n    pass\nclass B(A):\n    def f(self):\n        self.g()\nA().f()\n",
        "rank: int\ndel rank\nglobal rank\n",
        "async def f():\n    async with a as b:\n        async for c in d:\n            await dist.barrier()\n",
        "match rank:\n    case 0:\n        dist.barrier()\n    case _:\n        pass\n",
        "from . import *\nfrom .. import x\nfrom .... import y\nx()\ny.z()\n",
        "model = DDP(model)\nmodel = model\nif rank == 0:\n    model(model)\n",
        "class C:\n    def __init__(self):\n        self.m = self.m\n    def f(self):\n        self.m()\n",
        "def f(f):\n    return f(f)\nf(f)\n",
        "lambda: (yield)\n",
        "DataLoader()\ntorch.device()\nDistributedSampler()\nos.environ['RANK'] = rank\n",
    ],
)
def test_odd_code_is_read_to_the_end(tmp_path: Path, text: str) -> None:
    """Code that is deep, circular or strange neither raises nor hangs."""
    file = tmp_path / "odd.py"
    file.write_text(START + text)
    reading = read_scripts([file])
    assert {s.code for s in reading.skipped} <= {"not-python", "too-deep"}


def test_folders_are_searched_with_care(tmp_path: Path) -> None:
    """Only Python files count, those of environments and empty ones do not, and the number is bounded."""
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "a.py").write_text("x = 1")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "train.py").write_text(START)
    (tmp_path / "launch").write_text("#!/usr/bin/env python3\nx = 1\n")
    (tmp_path / "log.txt").write_text("x")
    found = find_scripts([tmp_path, tmp_path / "launch", tmp_path / "log.txt"])
    assert [p.name for p in found] == ["launch", "train.py"]
    many = tmp_path / "many"
    many.mkdir()
    for number in range(410):
        (many / f"m{number}.py").write_text("x = 1\n")
    assert len(find_scripts([many])) == 400


def test_control_characters_and_secrets_do_not_come_through(tmp_path: Path) -> None:
    """What is quoted from a script is cleaned and masked."""
    file = tmp_path / "train.py"
    file.write_text(START + "if dist.get_rank() == 0:\n    dist.barrier()  # \x1b[31m hf_" + "a" * 30 + "\n")
    quote = read_scripts([file]).observations[0].quotes[0]
    assert "\x1b" not in quote.text
    assert "aaaa" not in quote.text


@pytest.mark.parametrize(
    ("text", "implies"),
    [
        ("from torch.nn.parallel import DistributedDataParallel as DDP\nmodel = DDP(net)\n", ["parallelism=ddp"]),
        ("from torch.distributed.fsdp import fully_shard\nfully_shard(net)\n", ["parallelism=fsdp2"]),
        (
            """from torch.distributed.fsdp import FullyShardedDataParallel as F
from torch.nn.parallel import DistributedDataParallel as D
m = F(n) if args.fsdp else D(n)
""",
            [],
        ),
        ("import deepspeed\nengine, *_ = deepspeed.initialize(model=net)\n", []),
        ("from torch.nn.parallel import DistributedDataParallel\n", []),
        ("import lightning as L\nL.Trainer(devices=4, strategy='ddp_spawn')\n", ["parallelism=ddp"]),
        ("import lightning as L\nL.Trainer(devices=4, strategy='fsdp')\n", []),
        ("import transformers as t\nt.Trainer(net, args)\n", []),
        ("import transformers as t\nt.Trainer(net, t.TrainingArguments('o'))\n", ["parallelism=ddp"]),
        ("import transformers as t\nt.Trainer(net, t.TrainingArguments(**vars(a)))\n", []),
        ("import transformers as t\nt.Trainer(net, t.TrainingArguments('o', fsdp='full_shard'))\n", []),
        ("import transformers as t\nt.Trainer(net, t.TrainingArguments('o', deepspeed='z.json'))\n", []),
    ],
)
def test_parallelism_is_implied_only_where_it_is_plain(tmp_path: Path, text: str, implies: list[str]) -> None:
    """The way of parallelising is a fact where one wrapper is called, and open where several may be."""
    file = tmp_path / "train.py"
    file.write_text("import torch\n" + text)
    assert read_scripts([file]).facts["implies"] == implies


@pytest.mark.slow
def test_following_values_has_an_end(tmp_path: Path) -> None:
    """A script in which everything is made of everything else is read to its end, and little of it is followed."""
    made = [f"    x{i} = x{i - 1} + x{max(0, i - 7)} * len(x{max(0, i - 13)})" for i in range(1, 300)]
    tests = [f"    if x{299 - i % 50} > {i}:\n        dist.barrier()" for i in range(300)]
    script = tmp_path / "train.py"
    script.write_text("\n".join([START, "def main(x0):", *made, *tests]) + "\n")
    project = read_scripts([script]).project
    assert project is not None
    origins = ScriptContext(project).origins
    main = next(f for f in project.functions if f.name == "main")
    for node in ast.walk(main.node):
        if isinstance(node, ast.If):
            origins.of(node.test, main)
    assert origins.left >= 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "".join(f"{'    ' * (n + 1)}for a in BIG:\n" for n in range(17)) + f"{'    ' * 18}x = [{'a, ' * 3000}]\n",
        "    return " + "(" * 60 + "BIG" + ")" * 60 + " + BIG" * 700 + "\n",
        "".join(f"    if BIG:\n        f(BIG)\n    x{n} = {{BIG, *BIG}}\n" for n in range(2000)),
    ],
    ids=["nested", "long", "many"],
)
def test_going_through_code_has_an_end(tmp_path: Path, body: str) -> None:
    """Loops in loops, long expressions and tables take bounded steps; where they run out, less is clear."""
    path = tmp_path / "train.py"
    path.write_text(f"import torch\nBIG = [{'1, ' * 50_000}]\ndef f(BIG):\n{body}\nf(BIG)\n")
    reading = read_scripts([path])
    assert reading.project is not None
    machine = ScriptContext(reading.project).interpreter
    assert machine.steps <= MAX_STEPS
    assert ("script.thawed-after-ddp" in reading.clear) != machine.is_cut
    assert "script.split-without-seed" in reading.clear
