"""Looking fixed texts and names up in packages that are made here, as wheels and archives of sources are made."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import msgspec
import pytest

from distkb.catalogue.message import LibraryMessages
from distkb.catalogue.model import Catalogue, Signature, Text, Version
from distkb.catalogue.settings import Setting
from distkb.verify.claims import Claim, claims
from distkb.verify.defaults import declared
from distkb.verify.look import Finder
from distkb.verify.news import gone_messages
from distkb.verify.packages import KINDS, Kind, package, versions
from distkb.verify.run import look_up, write

SAID = Text(en="It says so.", ko="그렇게 말합니다.")
LATE = Kind("demo", "demo", "demo", only=("1.0", "1.1"))


def wheel(folder: Path, version: str, files: dict[str, bytes]) -> Path:
    """A wheel of these files."""
    path = folder / f"demo-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def message(pattern: str, **more: object) -> Signature:
    """A signature of the component `demo`."""
    return Signature(
        id="demo.said",
        pattern=pattern,
        role="primary",
        means=SAID,
        seen_in=(Version(component="demo", since="1.0"),),
        **more,  # type: ignore[arg-type]
    )


def catalogue(*signatures: Signature, settings: tuple[Setting, ...] = ()) -> Catalogue:
    """A catalogue that holds these and nothing else."""
    empty: dict[str, tuple[()]] = dict.fromkeys(("entries", "facts", "findings", "steps", "terms"), ())
    return Catalogue(**empty, signatures=signatures, settings=settings)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'raise ValueError("rank %d never reached the barrier")', "whole"),
        (b'raise ValueError(f"rank {rank} never "\n    f"reached the barrier")', "whole"),
        (b'raise ValueError("rank " + str(rank) + " never " +\n    "reached the barrier")', "whole"),
        (b'print(" never reached the barrier")', "part"),
        (b'print("rank ")\n' + b"x = 1\n" * 300 + b'print(" never reached the barrier")', "part"),
        (b"print('Rank 3 NEVER reached the barrier')", None),
    ],
)
def test_a_message_is_found_as_the_language_puts_it_together(tmp_path: Path, content: bytes, found: str | None) -> None:
    """Pieces of one message are joined, far ones are not one message, and another case is another text."""
    wanted = claims(catalogue(message(r"rank \d+ never reached the barrier")), ["demo"])
    seen = Finder(wanted).look(wheel(tmp_path, "1.0", {"demo/run.py": content}))
    assert list(seen.values()) == ([found] if found else [])


def test_compiled_parts_and_archives_of_sources_are_read_and_tests_are_not(tmp_path: Path) -> None:
    """A library's strings count; what only the tests of a package say does not."""
    wanted = [Claim("demo.said", ("demo",), "", (("never reached the barrier",),))]
    text = b"\0rank %d never reached the barrier\0"
    assert Finder(wanted).look(wheel(tmp_path, "1.0", {"demo/lib/libdemo.so.2": text}))
    assert not Finder(wanted).look(wheel(tmp_path, "1.1", {"demo/tests/test_run.py": b"'never reached the barrier'"}))
    archive = tmp_path / "demo-1.2.tar.gz"
    with tarfile.open(archive, "w:gz") as made:
        source = tarfile.TarInfo("demo-1.2/demo/run.py")
        source.size = len(text)
        made.addfile(source, io.BytesIO(text))
    assert Finder(wanted).look(archive)


def test_a_name_is_met_as_a_whole_word_only(tmp_path: Path) -> None:
    """`DEMO_TIMEOUT` is not in a package that reads `DEMO_TIMEOUT_MS` or `OLD_DEMO_TIMEOUT`."""
    setting = Setting(
        id="DEMO_TIMEOUT",
        name="DEMO_TIMEOUT",
        kind="variable",
        place="environment",
        means=SAID,
        read_by=(Version(component="demo"),),
    )
    finder = Finder(claims(catalogue(settings=(setting,)), ["demo"]))
    assert not finder.look(wheel(tmp_path, "1.0", {"demo/run.py": b"'DEMO_TIMEOUT_MS', 'OLD_DEMO_TIMEOUT'"}))
    assert set(finder.look(wheel(tmp_path, "1.1", {"demo/run.py": b"'DEMO_TIMEOUT'"})).values()) == {"whole"}


def test_a_key_is_found_by_the_name_that_a_configuration_uses(tmp_path: Path) -> None:
    """DeepSpeed's fields have an alias, and it is the one that is written into the file."""
    name = "deepspeed-config.zero_optimization.stage3_gather"
    held = wheel(
        tmp_path, "1.0", {"deepspeed/runtime/zero/config.py": b"    gather: bool = F(0, alias='stage3_gather')\n"}
    )
    assert Finder([Claim(name, ("demo",), name, ((name,),), name=True)]).look(held)


def test_what_says_too_little_is_not_looked_up() -> None:
    """A short ordinary word stands in every package, and a report's words in none."""
    assert claims(catalogue(message("watchdog")), ["demo"]) == []
    assert claims(catalogue(message("never reached the barrier", where=("report",))), ["demo"]) == []
    assert claims(catalogue(message("never reached the barrier")), ["other"]) == []


def test_results_are_written_by_wording_and_those_of_other_packages_kept(tmp_path: Path) -> None:
    """A second look into another kind of package adds to the file; the same look writes the same bytes."""
    wheel(tmp_path, "1.0", {"demo/run.py": b'"rank 1 never came to the barrier"'})
    wheel(tmp_path, "1.1", {"demo/run.py": b'"rank 1 never reached the barrier"'})
    held = catalogue(message("never (?:came to|reached) the barrier"))
    first = look_up(held, [LATE], tmp_path, lambda *_: None, lambda *_: None, None)
    spans = {text: one.whole for text, one in first.claims["demo.said"].found["demo"].items()}
    assert spans == {"never came to the barrier": ("1.0",), "never reached the barrier": ("1.1",)}
    write(tmp_path, first)
    before = (tmp_path / "verified.json").read_bytes()
    second = look_up(held, [], tmp_path, lambda *_: None, lambda *_: None, first)
    write(tmp_path, second)
    assert (tmp_path / "verified.json").read_bytes() == before


def test_packages_come_from_the_cache_where_they_are_there(tmp_path: Path) -> None:
    """A held file of the wanted system is taken, and the few versions of large packages are those that are named."""
    cuda = next(kind for kind in KINDS if kind.name == "torch-cuda")._replace(only=("2.0.1",))
    mac, linux = (tmp_path / f"torch-2.0.1-cp311-cp311-{one}.whl" for one in ("macosx_11_0_arm64", "manylinux1_x86_64"))
    mac.touch()
    linux.touch()
    assert package(cuda, "2.0.1", tmp_path) == linux
    assert package(next(kind for kind in KINDS if kind.name == "torch"), "2.0.1", tmp_path) == mac
    assert versions(cuda, tmp_path) == list(cuda.only)


@pytest.mark.parametrize(
    ("file", "content", "found"),
    [
        ("src/net.cc", b'NCCL_PARAM(IbTimeout, "IB_TIMEOUT", 20);', {"NCCL_IB_TIMEOUT": "20"}),
        ("src/net.cc", b'NCCL_PARAM(MaxCTAs, "MAX_CTAS", NCCL_CONFIG_UNDEF_INT);', {}),
        ("demo/run.py", b"x = os.environ.get('DEMO_WAIT', '30')", {"DEMO_WAIT": "30"}),
        ("demo/run.py", b"a = os.getenv('DEMO', '1')\nb = os.getenv('DEMO', '2')", {}),
        (
            "transformers/training_args.py",
            b"    ddp_timeout: int = field(\n        default=1800,\n",
            {"training-arguments.ddp_timeout": "1800"},
        ),
        (
            "deepspeed/runtime/zero/config.py",
            b'    gather: bool = Field(False, alias="stage3_gather")\n    sequential: bool = Field(default=True)\n',
            {
                "deepspeed-config.zero_optimization.gather": "false",
                "deepspeed-config.zero_optimization.stage3_gather": "false",
                "deepspeed-config.zero_optimization.sequential": "true",
            },
        ),
        (
            "torch/distributed/run.py",
            b'        "--monitor-interval",\n        type=float,\n        default=0.1,\n',
            {"torchrun.--monitor-interval": "0.1"},
        ),
        (
            "torch/include/torch/csrc/distributed/c10d/FlightRecorder.hpp",
            b'    max_entries_ = getCvarInt(\n        {"TORCH_FR_SIZE", "TORCH_NCCL_SIZE"}, 2000);\n',
            {"TORCH_FR_SIZE": "2000", "TORCH_NCCL_SIZE": "2000"},
        ),
        (
            "torch/include/torch/csrc/distributed/c10d/Backend.hpp",
            b"constexpr auto kBackendDefaultTimeout =\n    std::chrono::milliseconds(30 * 60 * 1000);\n",
            {"torch.monitored-barrier": "1800"},
        ),
    ],
)
def test_a_default_is_read_where_it_is_a_plain_value(
    tmp_path: Path, file: str, content: bytes, found: dict[str, str]
) -> None:
    """Macros, reads of the environment and declarations tell it; another constant, or two answers, tell nothing."""
    assert declared(wheel(tmp_path, "1.0", {file: content})) == found


def test_a_message_that_the_newest_package_lacks_is_told(tmp_path: Path) -> None:
    """One that is put together of parts there is not."""
    path = wheel(
        tmp_path, "1.0", {"demo/a.py": b'raise ValueError(f"rank {rank} of {size} left "\n    f"the barrier")'}
    )
    listed = ("rank {} of {} left the barrier", "rank {} of {} came late")
    known = LibraryMessages(component="demo", version="1.0", messages={"D21": listed})
    found = msgspec.structs.replace(catalogue(), messages=(known,))
    assert gone_messages(path, "demo", "1.0", found) == ["rank {} of {} came late"]
    assert gone_messages(path, "other", "1.0", found) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"raise ValueError(f\"'device' cannot be {device} if it is {other}\")", "'device' cannot be {} if it is {}"),
        (b"raise ValueError(f'\"path\" cannot be {path}')", '"path" cannot be {}'),
        (
            b"""raise ValueError("give an explicit 'plan' "\n    "for this model")""",
            "give an explicit 'plan' for this model",
        ),
        (
            b"""raise ValueError('it must have the keys "state"'\n    " to be valid")""",
            'it must have the keys "state" to be valid',
        ),
        (
            b'raise ValueError(f"unsupported mix of {model_dtype=} and {self.size=}")',
            "unsupported mix of model_dtype={} and self.size={}",
        ),
        (b"""raise ValueError(f"use `device_map={{'': {device}}}` for it")""", "use `device_map={'': {}}` for it"),
        (b"""raise ValueError(f"{count} must be more \\\nthan the stages")""", "{} must be more than the stages"),
    ],
)
def test_a_message_is_not_gone_because_of_how_it_is_written(tmp_path: Path, content: bytes, text: str) -> None:
    """Quotes within a text, names that Python prints with the value, doubled braces and broken lines change nothing."""
    path = wheel(tmp_path, "1.0", {"demo/a.py": content})
    known = LibraryMessages(component="demo", version="1.0", messages={"D21": (text,)})
    assert gone_messages(path, "demo", "1.0", msgspec.structs.replace(catalogue(), messages=(known,))) == []
