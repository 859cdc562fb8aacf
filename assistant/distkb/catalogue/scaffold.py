"""Starts a new entry: a complete skeleton whose every text still has to be written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, get_args

import distkb
from distkb.catalogue.model import Family

if TYPE_CHECKING:
    from pathlib import Path

_ID = re.compile(r"[A-Z]{1,8}[1-9][0-9]*")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SERIES: Final = ("D", "MN", "M", "U")


class ScaffoldError(ValueError):
    """The entry cannot be started; the message says why in one line.

    `reason` is one word for it, and `values` hold what it is about, for who says it in another language.
    """

    def __init__(self, message: str, reason: str, **values: object) -> None:
        super().__init__(message)
        self.reason = reason
        self.values = values


def scaffold(kb: Path, entry_id: str, family: str, slug: str) -> Path:
    """Write `entry.yaml` and `repro.py` of a new entry and return its directory.

    Every text says TODO, which `distkb kb check` reports with its place until it is written.
    `ScaffoldError` where the id is taken or malformed, or the family or slug is not one.
    """
    _refuse(kb, entry_id, family, slug)
    home = kb / "entries" / family / f"{entry_id}-{slug}"
    try:
        home.mkdir(parents=True)
        for name, template in (("entry.yaml", _ENTRY), ("repro.py", _REPRO)):
            text = template.replace("@ID", entry_id).replace("@SLUG", slug).replace("@FAMILY", family)
            text = text.replace("@VERSION", distkb.__version__)
            if name == "entry.yaml" and (kb / "schema").is_dir():
                text = _EDITOR_LINE + text
            with (home / name).open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        why = error.strerror or str(error)
        raise ScaffoldError(f"{home} cannot be written: {why}", "unwritable", path=home, why=why) from error
    return home


def _refuse(kb: Path, entry_id: str, family: str, slug: str) -> None:
    if not _ID.fullmatch(entry_id):
        form = f"{', '.join(_SERIES[:-1])} or {_SERIES[-1]} and a number"
        message = f"'{entry_id}' is no entry id: it is {form}, such as D52, or an overlay's own letters"
        raise ScaffoldError(message, "id", id=entry_id, series=", ".join(_SERIES))
    if family not in get_args(Family):
        families = ", ".join(get_args(Family))
        raise ScaffoldError(f"'{family}' is no family: they are {families}", "family", family=family, families=families)
    if not _SLUG.fullmatch(slug):
        message = f"'{slug}' is no slug: lower-case words joined by hyphens, such as env-contract"
        raise ScaffoldError(message, "slug", slug=slug)
    if not kb.is_dir():
        raise ScaffoldError(f"{kb} is not a directory", "folder", path=kb)
    taken = sorted(kb.glob(f"entries/*/{entry_id}-*"))
    if taken:
        raise ScaffoldError(f"{entry_id} exists already: {taken[0]}", "taken", id=entry_id, path=taken[0])


_EDITOR_LINE: Final = "# yaml-language-server: $schema=../../../schema/entry.schema.json\n"
"""Tells an editor where the schema is; a knowledge base of one's own may have none."""

_ENTRY: Final = """\
id: @ID
slug: @SLUG
family: @FAMILY
status: draft
since: @VERSION
title:
  en: TODO the failure in one line, as a statement
  ko: TODO 실패를 한 줄로
aliases:
  en: [TODO what people search for]
  ko: [TODO 사람들이 검색하는 말]
summary:
  en: >-
    TODO two or three sentences on what happens and why.
  ko: >-
    TODO 무슨 일이 왜 일어나는지 두세 문장으로 씁니다.
symptoms:
  - en: TODO as the person at the keyboard says it
    ko: TODO 키보드 앞의 사람이 말하는 그대로
signatures:
  - id: todo.@SLUG
    pattern: 'TODO the fixed words of the message'
    role: primary
    means:
      en: TODO what the line says about the run.
      ko: TODO 이 줄이 실행에 대해 무엇을 말하는지 씁니다.
    example: 'TODO the fixed words of the message, as printed'
    seen_in:
      - {component: torch, since: 'TODO', how: run}
    background: never
causes:
  - id: @ID.a
    title:
      en: TODO the cause in one line
      ko: TODO 원인을 한 줄로
    explanation:
      en: >-
        TODO how the cause brings the failure about.
      ko: >-
        TODO 이 원인이 어떻게 실패로 이어지는지 씁니다.
    prior: uncommon
    evidence:
      usually: ['TODO fact=value']
      often: [todo.@SLUG]
    fixes:
      - id: @ID.a.1
        title:
          en: TODO what to do, as an instruction
          ko: TODO 무엇을 할지 지시문으로
        steps:
          - en: TODO the first step.
            ko: TODO 첫 단계를 씁니다.
        code:
          before: |
            TODO the faulty lines
          after: |
            TODO the repaired lines
        cost: edit
        risk: low
        works: usually
        verify:
          en: TODO what shows that it worked.
          ko: TODO 고쳐졌음을 보여 주는 것을 씁니다.
    confused_with:
      - id: TODO
        how_to_tell:
          en: TODO what differs.
          ko: TODO 무엇이 다른지 씁니다.
does_not_help:
  - en: TODO what people try, and why it does not help.
    ko: TODO 흔히 시도하지만 도움이 되지 않는 것과 그 이유를 씁니다.
related: []
references:
  - url: https://TODO
    title: TODO
    accessed: 'TODO'
    supports: TODO what it is cited for
applies_to:
  - {component: torch, since: 'TODO', how: source}
repro:
  nproc: 2
  seconds: 20
  shows: [todo.@SLUG]
"""

_REPRO: Final = '''\
"""@ID @SLUG: TODO the failure in one sentence; `--fixed` runs the repaired form.

Run: torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist


def main() -> int:
    """Train for a few steps, with the fault unless `--fixed` is given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    fixed = parser.parse_args().fixed

    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    try:
        logging.info("start, fixed=%s", fixed)
        raise NotImplementedError("TODO: show the failure of @ID, and its repair with --fixed")
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
'''
