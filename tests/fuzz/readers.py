"""One target for each reader, and the texts to begin with: what `test_fuzz.py`, `campaign.py` and `guided.py` feed."""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import io
import json
import lzma
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent / "kept"
"""Inputs that once found something, in a folder for each target."""
SIZES = {"report": 2 << 10, "quotes": 2 << 10, "whole": 4 << 10, "digested": 4 << 10}
"""Bytes of an input to begin with, where a reader takes long on a whole one."""
SEEDS = Path(__file__).parent / "seeds"
"""Inputs that no recording holds, in a folder for each target."""
SPREAD = 16
"""Recorded artifacts to begin with, from as many folders as there are."""
LOGS = (
    "tests/replay/recorded/**/*.log", "tests/slurm/jobs/*/artifacts/**/*.out", "tests/healthy/logs/**/*.log",
    "tests/evidence/data/*.log", "kb/entries/**/recorded/**/*.log",
)  # fmt: skip
RECORDED: dict[str, tuple[str, ...]] = {
    "log": LOGS,
    "report": ("tests/evidence/data/*.log", "kb/entries/*/*/accounts.yaml"),
    "recorder": ("tests/evidence/flight_recorder/recorded/*/nccl_trace*", "tests/diagnosis/data/**/fr_trace_*"),
    "stacks": ("kb/**/stacks/*.json", "tests/diagnosis/data/**/stacks/*.json"),
    "trace": (),
    "script": ("kb/entries/*/*/repro.py", "tests/evidence/data/scripts/*/*.py"),
    "config": (),
    "documents": ("tests/report/golden/*.json",),
    "packed": LOGS,
    "quotes": LOGS,
    "whole": LOGS,
    "digested": LOGS,
    "answers": ("tests/report/golden/*.json",),
    "session": (),
    "watched": LOGS,
}
Target = Callable[[bytes], None]


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="distkb-fuzz-"))


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


@functools.cache
def _catalogue():  # type: ignore[no-untyped-def]
    from distkb.knowledge import open_knowledge

    return open_knowledge().catalogue()


@functools.cache
def _scanner():  # type: ignore[no-untyped-def]
    from distkb.catalogue.places import cache_directory
    from distkb.evidence.scanner.scan import Scanner

    return Scanner(_catalogue().signatures, cache_directory())


@functools.cache
def _reports():  # type: ignore[no-untyped-def]
    from distkb.catalogue.places import cache_directory
    from distkb.evidence.readers.report.report_reader import ReportReader

    return ReportReader(_catalogue().signatures, cache_directory())


@functools.cache
def _knowledge():  # type: ignore[no-untyped-def]
    from distkb.diagnosis.guide import Guide
    from distkb.knowledge import open_knowledge
    from distkb.report.meaning import Meanings
    from distkb.search.index import load

    compiled = open_knowledge()
    return Guide(_catalogue()), load(compiled.search_index()), Meanings(_catalogue())


def _harmless(shown: str, breaks: str = "\n") -> None:
    """Raise where a control character or an override of the direction is shown, or written out in JSON."""
    if found := _MISLEADING.search(shown.replace(breaks, "") if breaks else shown):
        raise AssertionError(f"a control character is shown: {found[0]!r}")


_MISLEADING = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|(?<!\\)\\u(?:00[01][0-9a-f]|202[a-e]|206[6-9])"
)


def log(data: bytes) -> None:
    """A log, as it is opened, scanned and put together."""
    from distkb.evidence.inventory import LogFile
    from distkb.evidence.run.derive import derive
    from distkb.evidence.text.opening import UnreadableError, open_text

    path = _file("rank0.log", data)
    with contextlib.suppress(UnreadableError):
        raw, stream = open_text(path)
        with raw:
            scan = _scanner().scan(LogFile(path=path, name="rank0.log"), stream)
        derive([scan], (), _catalogue().signatures)


def report(data: bytes) -> None:
    """What a person wrote."""
    from distkb.evidence.readers.report.report_reader import facts_of, pasted, take_apart

    parts = take_apart(data.decode("utf-8", "replace"))
    _reports().observations(parts, None)
    pasted(parts, _catalogue().signatures, None)
    facts_of(parts, _catalogue().facts, None)


def recorder(data: bytes) -> None:
    """A dump of the flight recorder."""
    from distkb.evidence.readers.flight_recorder import read_flight_recorder

    read_flight_recorder([_file("nccl_trace_rank_0", data)])


def stacks(data: bytes) -> None:
    """Stacks of processes, as text and as JSON."""
    from distkb.evidence.readers.stacks.judge import judge
    from distkb.evidence.readers.stacks.stacks_reader import parse

    judge(parse(data.decode("utf-8", "replace"), "stacks.txt"))


def trace(data: bytes) -> None:
    """Checkpoints of ranks."""
    from distkb.evidence.readers.traces import read_traces

    read_traces([_file("trace-rank-0.log", data)])


def script(data: bytes) -> None:
    """A training script, and a configuration in Python."""
    from distkb.evidence.readers.configs import read_configs
    from distkb.evidence.readers.scripts import read_scripts

    path = _file("train.py", data)
    read_scripts([path])
    read_configs([path], _catalogue().settings, {}, refusals=_catalogue().refusals)


def config(data: bytes) -> None:
    """A configuration in each of the languages that there are."""
    from distkb.evidence.readers.configs import read_configs

    for name in ("ds_config.json", "accelerate.yaml", "job.sbatch"):
        read_configs([_file(name, data)], _catalogue().settings, {}, refusals=_catalogue().refusals)


def documents(data: bytes) -> None:
    """What torchrun and probes leave behind."""
    from distkb.evidence.readers.error_files import parse_error_file, parse_table
    from distkb.evidence.readers.probe_answers import read_document

    read_document(data)
    parse_error_file(data)
    parse_table(data.decode("utf-8", "replace"))


def packed(data: bytes) -> None:
    """Packed files, whole and damaged."""
    from distkb.evidence.text.opening import UnreadableError, open_text

    with contextlib.suppress(UnreadableError):
        raw, stream = open_text(_file("x.log.gz", data))
        with raw:
            while stream.read(1 << 20):
                pass


def quotes(data: bytes) -> None:
    """What is shown of a line."""
    from distkb.evidence.text.clean import mask, plain, quote_text

    text = data.decode("utf-8", "replace")
    shown = quote_text(text)
    masked = mask(plain(text))
    _harmless(shown + masked, breaks="")


def whole(data: bytes) -> None:
    """A log beside a report of the same words, from reading to each form of the answer."""
    from distkb import intake
    from distkb.catalogue.places import cache_directory
    from distkb.diagnosis.batch import diagnose
    from distkb.locale import LANGUAGES, Say
    from distkb.report import json, markdown, text

    guide, index, meanings = _knowledge()
    path = _file("console.log", data)
    words = data.decode("utf-8", "replace")[:400]
    evidence = intake.read(_catalogue(), [path], report=words, index=lambda: index, cache_dir=cache_directory())
    diagnosis = diagnose(guide, evidence)
    _harmless(json.write(diagnosis, meanings))
    for language in LANGUAGES:
        _harmless(text.write(diagnosis, meanings, Say(language)) + markdown.write(diagnosis, meanings, Say(language)))


def digested(data: bytes) -> None:
    """A digest of a log in all its sections, one rank of it, and the lines around a place."""
    from distkb import intake
    from distkb.catalogue.places import cache_directory
    from distkb.diagnosis.batch import diagnose
    from distkb.evidence.run.closeup import Wish
    from distkb.evidence.text.around import lines_around
    from distkb.evidence.text.opening import UnreadableError
    from distkb.locale import Say
    from distkb.report.digest import json, text
    from distkb.report.digest.build import around, digest
    from distkb.report.digest.model import HANDLES

    guide, _, meanings = _knowledge()
    path = _file("rank1.log", data)
    say = Say("ko")
    evidence = intake.read(_catalogue(), [path], cache_dir=cache_directory(), look_near=True, wish=Wish(rank=1))
    found = diagnose(guide, evidence)
    made = [digest(found, meanings, say, budget=3000, more=more) for more in (None, *HANDLES)]
    made.append(digest(found, meanings, say, budget=500, rank=1))
    with contextlib.suppress(UnreadableError):
        made.append(around(lines_around(path, 3), 3, "rank1.log", say, budget=3000))
    for one in made:
        _harmless(json.write(one) + text.write(one, say))


def answers(data: bytes) -> None:
    """What comes back from probes, from the nodes of a job and from the sockets of ranks."""
    import base64
    import zlib

    from distkb.evidence.readers.stacks.judge import judge
    from distkb.locale import Say
    from distkb.probing.collect import _collected
    from distkb.probing.document import RawDocument
    from distkb.probing.judge import answer
    from distkb.report import probe
    from distkb_probes._report import Report, Stopped
    from distkb_probes.stack import nodes
    from distkb_probes.stack.fault import threads_of
    from distkb_probes.stack.reach import Reach

    threads_of(data.decode("utf-8", "replace"))
    nodes._answer(data.decode("utf-8", "replace"))
    part = base64.b64encode(zlib.compress(data)).decode()
    said = nodes._answer(f"noise\ndistkb-node 1/1 {part}\n")
    report = Report("stacks")
    with contextlib.suppress(Stopped):
        nodes._merge([Reach("a", ["true"], said), Reach("b", ["true"], said)], report)
    for body in (json.dumps(report.document()).encode(), data):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raw = msgspec.json.decode(body, type=RawDocument)
            taken = _collected(raw)
            judge(taken.dumps())
            shown = answer(raw, _catalogue().findings)
            for language in ("en", "ko"):
                _harmless(probe.write(shown, Say(language)))


def session(data: bytes) -> None:
    """A session that was saved: listed, resumed, shown and exported, or refused."""
    from distkb.diagnosis.view import view
    from distkb.locale import Say
    from distkb.sessions import export, store

    guide, _, _ = _knowledge()
    folder = _folder() / "sessions"
    folder.mkdir(exist_ok=True)
    (folder / "x.jsonl").write_bytes(data)
    store.list_sessions(folder)
    with contextlib.suppress(store.SessionError):
        saved = store.load("x", folder)
        shown = view(saved, guide)
        _harmless(export.json(saved, shown))
        for language in ("en", "ko"):
            _harmless(export.markdown(saved, shown, guide, Say(language)))
            _harmless(export.upstream(saved, shown, guide, Say(language)))


def watched(data: bytes) -> None:
    """The end of what a job writes, in which counters are looked for."""
    from distkb.watching.bundle import _masked
    from distkb.watching.outputs import Outputs

    outputs = Outputs()
    path = _file("job.out", b"")
    outputs.follow([path])
    path.write_bytes(data)
    outputs.look()
    _masked(data)


TARGETS: dict[str, Target] = {
    one.__name__: one
    for one in (
        log, report, recorder, stacks, trace, script, config, documents, packed, quotes, whole, digested, answers,
        session, watched,
    )
}  # fmt: skip


def seeds(name: str) -> Iterator[bytes]:
    """Yield inputs to begin with: what is kept, then artifacts that were recorded or written for this."""
    for folder in (KEPT / name, SEEDS / name):
        yield from (path.read_bytes() for path in sorted(folder.glob("*")))
    found = [path for pattern in RECORDED[name] for path in sorted(ROOT.glob(pattern)) if path.is_file()]
    for number, path in enumerate(found[:: max(1, len(found) // SPREAD)]):
        data = path.read_bytes()[: SIZES.get(name, 16 << 10)]
        yield (gzip.compress, bz2.compress, lzma.compress)[number % 3](data) if name == "packed" else data


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what is printed by accident away from the answer."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
