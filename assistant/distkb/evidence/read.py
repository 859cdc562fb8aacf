"""Reads everything that was given and says what is known: the entry point of this package."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence import facts as stated
from distkb.evidence.guarded import guarded, guarded_together
from distkb.evidence.hits import QUOTES, consequences, signature_observations
from distkb.evidence.logs import Logs, Progress, read_logs
from distkb.evidence.observation import Evidence, LineRange, Observation, Quote, Skipped
from distkb.evidence.readers.report.report_reader import read_report
from distkb.evidence.run.derive import Before, Derived, derive
from distkb.evidence.run.ends import before_endings
from distkb.evidence.run.findings import FROZEN
from distkb.evidence.run.launches import newest
from distkb.evidence.run.lines import body_of
from distkb.evidence.run.overcome import without_overcome
from distkb.evidence.run.starts import older_runs, states
from distkb.evidence.run.unexplained import first_unexplained, general, without_explained, without_raised
from distkb.evidence.run.work import LAUNCHER
from distkb.evidence.scanner.scan import FileScan
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.printed import is_frame, printed_kinds
from distkb.evidence.walk import Stock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from distkb.catalogue.model import Fact, Signature
    from distkb.evidence.readers.scripts.project import Project
    from distkb.evidence.readers.stacks.group import Standing
    from distkb.evidence.run.closeup import Wish
    from distkb.evidence.text.shapes import Kept, Shape

OVERCOME = 0.1
"""Certainty that what ended a run still matters where the next one took it up."""
HANGS = "symptom=hang"
"""What is supposed of a run whose output just ends."""


def read_evidence(  # noqa: PLR0913, PLR0917 - all that can be given
    signatures: Sequence[Signature],
    facts: Sequence[Fact],
    findings: Collection[str],
    stock: Stock,
    report: str | None = None,
    report_name: str | None = None,
    fact_values: Mapping[str, str] | None = None,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    others: Collection[Path] = (),
    standing: Sequence[Standing] = (),
    project: Project | None = None,
    *,
    look_near: bool = False,
    wish: Wish | None = None,
) -> Evidence:
    """Read logs, a person's report and stated facts into observations.

    `findings` are the ids that the catalogue knows; others are not emitted. What cannot be read is listed in `skipped`
    and never stops the rest. Compiled patterns are kept in `cache_dir`. `progress` is told how many bytes of how many
    were read. `others` are no logs, `standing` is where the processes of stack dumps stand; in `project`, the scripts,
    the ranks' places are looked up. `look_near`: where no script was given, those that tracebacks name are read if they
    lie on this machine. `wish`: the run is shown from near too.

    Raises:
        FactError: a stated fact or value does not exist.
    """
    given = stated.check_facts(fact_values or {}, facts)
    logs = read_logs(signatures, stock, cache_dir, progress, others)
    put_together: list[Skipped] = []
    scanned, runs = guarded(lambda: newest(logs.scans), "-", put_together) or (logs.scans, ())
    earlier = [scan for scan in logs.scans if scan not in scanned] if runs else []
    if runs:
        groups = {scan.file.group for scan in scanned}
        kept = tuple(one for one in logs.error_files if one[0].group in groups)
        logs = msgspec.structs.replace(logs, scans=scanned, error_files=kept)
    older = older_runs(logs.older, logs.scans)
    runs = (*runs, *states(older, logs.scans))
    before = Before(apart=earlier, in_files=older)
    skipped = [*logs.skipped, *put_together]
    words: list[Observation] = []
    if report:
        read = partial(read_report, signatures, facts, report, report_name, cache_dir, skipped)
        words = guarded(read, report_name or "-", skipped) or []
    words = [o for o in words if o.id.partition("=")[0] not in given]
    said = {o.id for o in (*words, *stated.observed(given)) if o.id.startswith("symptom=")}
    hanging = HANGS in said
    near = stock.paths if look_near else ()
    project, beside, standing = guarded(lambda: _sourced(standing, project, near), "script", skipped) or (
        project,
        (),
        standing,
    )
    scans, result = _derived(logs, signatures, standing, skipped, hanging=hanging, before=before, wish=wish)
    endings = {signature.id for signature in signatures if signature.ending}
    failures = {signature.id for signature in signatures if signature.role != "context"}
    errors = failures - endings

    def told() -> list[Observation]:
        kept = without_raised(scans, general(signatures), result.timeline)
        found = consequences(signature_observations(kept, result, endings), errors, result.first)
        well = result.resumed and result.completed
        return found if result.troubled or well else [*found, *_past(older[-1:], result, endings)]

    seen = guarded(told, "-", skipped) or []
    known = {signature.id for signature in signatures} | set(findings)
    whole = [*result.observations, *_in_code(result, project, beside, near, skipped)]
    supposed: list[Observation] = []
    if result.open_end and not said:
        _, if_so = _derived(logs, signatures, standing, [], hanging=True, before=before, wish=None)
        supposed = _supposed(whole, [*if_so.observations, *_in_code(if_so, project, beside, near, [])])
    closeup = result.closeup
    if closeup is not None:
        from distkb.evidence.code.passages import with_code

        closeup = guarded(lambda: with_code(result, project, near), "script", skipped) or closeup
    observations = merge([*seen, *whole, *supposed, *logs.probed, *words, *stated.observed(given)])
    return Evidence(
        observations=tuple(o for o in observations if "=" in o.id or o.id in known),
        skipped=tuple(skipped),
        log_coverage=result.coverage,
        printed=guarded(lambda: _printed(scans, failures - general(signatures)), "-", skipped) or {},
        unreached=_unreached(result, project, skipped),
        unexplained=result.unexplained or first_unexplained(signatures, observations),
        notes=result.notes,
        ranks=result.ranks,
        runs=runs,
        bytes_read=sum(scan.size for scan in logs.scans) + logs.documents,
        closeup=closeup,
    )


def _past(before: Sequence[Sequence[FileScan]], result: Derived, endings: Collection[str]) -> Sequence[Observation]:
    """How the run before one without trouble was ended: hardly of weight where this one goes on from there."""
    scans = [
        scan.with_hits([hit for hit in scan.hits if hit.signature in endings]) for pieces in before for scan in pieces
    ]
    found = signature_observations(scans, result, endings)
    return [msgspec.structs.replace(one, certainty=OVERCOME) for one in found] if result.resumed else found


def _printed(scans: Sequence[FileScan], known: Collection[str]) -> dict[str, Quote]:
    """The kinds of lines that the run printed, each with a line of its kind; the digits of a line do not matter.

    Messages that are known by name are weighed by that, and left out here, as is what launchers say of any end.
    """
    told = {(id(scan), hit.line) for scan in scans for hit in scan.hits if hit.signature in known}
    parts = (
        (scan, part, number)
        for scan in scans
        for part, number in (((scan.first, 1),) if scan.end_offset else ()) + ((scan.last, scan.end_line),)
    )
    kinds = printed_kinds(one for one in _once(parts) if not _is_told(one, told))
    return {
        kind: Quote(text=quote_text(part.line(at)), path=scan.file.name, line=number + at, rank=scan.file.rank)
        for kind, (scan, part, number, at) in kinds.items()
    }


def _is_told(line: tuple[str, tuple[FileScan, Kept, int, int]], told: Collection[tuple[int, int]]) -> bool:
    text, (scan, _, number, at) = line
    return (id(scan), number + at) in told or LAUNCHER.search(text[body_of(text) :]) is not None


def _once(
    parts: Iterable[tuple[FileScan, Kept, int]],
) -> Iterator[tuple[str, tuple[FileScan, Kept, int, int]]]:
    """Yield each kind of line once, and what follows a line of a traceback that says where with that line.

    With the text comes the file, the part of it, the number of the part's first line, and which of its lines it is.
    """
    seen: set[Shape] = set()
    behind: set[tuple[Shape, Shape]] = set()
    for scan, part, number in parts:
        frame: Shape | None = None
        for at, shape in enumerate(part.shapes):
            if frame is not None:
                if (frame, shape) not in behind:
                    behind.add((frame, shape))
                    yield frame.text, (scan, part, number, at - 1)
                    yield shape.text, (scan, part, number, at)
            elif shape not in seen:
                seen.add(shape)
                yield shape.text, (scan, part, number, at)
            frame = shape if shape.once(is_frame) else None


def _supposed(found: Sequence[Observation], if_it_hangs: Sequence[Observation]) -> list[Observation]:
    """Return what would be seen besides in a run of which somebody says that it hangs, if that is more than an end."""
    known = {one.id for one in found}
    new = [one for one in if_it_hangs if one.present and one.id not in known]
    if all(one.id == FROZEN for one in new):
        return []
    return [msgspec.structs.replace(one, supposes=HANGS) for one in (*new, Observation(id=HANGS, source="log"))]


def _derived(
    logs: Logs,
    signatures: Sequence[Signature],
    standing: Sequence[Standing],
    skipped: list[Skipped],
    *,
    hanging: bool,
    before: Before,
    wish: Wish | None,
) -> tuple[Sequence[FileScan], Derived]:
    """What the logs show together, and the scans that it is of: those that cannot be put together are left out."""

    def put(given: Sequence[FileScan]) -> tuple[Sequence[FileScan], Derived]:
        scans = without_explained(before_endings(given, signatures), signatures)
        scans = without_overcome(scans, signatures)
        return scans, derive(scans, logs.error_files, signatures, standing, hanging=hanging, before=before, wish=wish)

    found = guarded_together(put, logs.scans, lambda scan: scan.file.name, skipped)
    return found or ((), derive((), (), signatures, standing, hanging=hanging, wish=wish))


def _sourced(
    standing: Sequence[Standing], project: Project | None, near: Sequence[Path]
) -> tuple[Project | None, tuple[Observation, ...], Sequence[Standing]]:
    """Where ranks stand, with the lines of the scripts; the scripts with those found near, and what these show."""
    if not standing or (project is None and not near):
        return project, (), standing
    from distkb.evidence.code.near import with_near
    from distkb.evidence.code.spots import with_sources

    frames = {frame for one in standing for frame in one.place.frames}
    project, said = with_near(project, frames, near)
    return project, said, standing if project is None else with_sources(project, standing)


def _in_code(
    result: Derived,
    project: Project | None,
    beside: Sequence[Observation],
    near: Sequence[Path],
    skipped: list[Skipped],
) -> Sequence[Observation]:
    """What the scripts say of the places at which the ranks parted, and of themselves where they were found near."""
    parted = result.parted
    if parted is None or (project is None and not (near and parted.places)):
        return ()
    from distkb.evidence.code.near import with_near
    from distkb.evidence.code.observe import observe

    def look() -> list[Observation]:
        scripts, said = with_near(project, (f for p in parted.places for f in p.frames), near)
        if scripts is None:
            return []
        return [*beside, *said, *observe(parted.parting, scripts, parted.last_lines)]

    return guarded(look, "script", skipped) or ()


def _unreached(result: Derived, project: Project | None, skipped: list[Skipped]) -> tuple[LineRange, ...]:
    """Where in the scripts no rank came to, since they all failed before."""
    if project is None or not result.places:
        return ()
    from distkb.evidence.code.unreached import unreached

    return guarded(lambda: unreached(result.places, project), "script", skipped) or ()


def merge(observations: Sequence[Observation]) -> list[Observation]:
    """Put observations of one id together: the surest first, the quotes of all."""
    merged: dict[str, Observation] = {}
    for one in observations:
        old = merged.get(one.id)
        if old is None:
            merged[one.id] = one
            continue
        sure, other = (old, one) if old.certainty >= one.certainty else (one, old)
        merged[one.id] = msgspec.structs.replace(
            sure,
            quotes=(*sure.quotes, *other.quotes)[:QUOTES],
            count=sure.count + other.count,
            values={**other.values, **sure.values},
        )
    return list(merged.values())
