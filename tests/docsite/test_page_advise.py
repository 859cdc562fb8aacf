"""The advisor's page: without scripts it has tables, and the tables say what the program says."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest

from distkb.docsite.advise import COLUMNS, COMMON, GPUS, MEMORIES, PIECES
from distkb.docsite.data import sizing as data
from distkb.locale import LANGUAGES, Say
from distkb.report import sizing as report
from distkb.sizing.advise import advise
from distkb.sizing.form import Form, model
from distkb.sizing.strategies import GIB, Workload

if TYPE_CHECKING:
    from distkb.locale import Language


pytest_plugins = ("built_site",)


def rows(page: str, table: int) -> list[list[str]]:
    """The words of each cell of one of the static tables."""
    body = re.findall(r'<table class="common">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)[table]
    found = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [
        [html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in found
    ]


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
def test_common_sizes_stand_there_without_a_script(lang: Language, files: dict[str, bytes]) -> None:
    """For each size, memory and strategy a sign, a word and the need; they are the program's."""
    page, say = files[f"{lang}/advise.html"].decode(), Say(lang)
    for place, memory in enumerate(MEMORIES):
        for text, cells in zip(COMMON, rows(page, place), strict=True):
            advice = advise(model(text), Workload(GPUS, GPUS, memory * GIB))
            by_name = {row.name: row for row in advice.rows}
            for name, cell in zip(COLUMNS, cells[1:-1], strict=True):
                fit = report.fit(by_name[name], advice.run)
                assert cell.startswith(f"{'✗' if fit == 'no' else '✓'} {say(f'advise.fit.{fit}')} ")
            if advice.chosen is not None:
                assert report.NAMES[advice.chosen.name] in cells[-1]
            else:
                assert str(advice.enough) in cells[-1]


def test_every_field_has_a_label_and_an_explanation(files: dict[str, bytes]) -> None:
    """Each field of the program's form is on the page, with a label and words that belong to it."""
    for lang in LANGUAGES:
        page = files[f"{lang}/advise.html"].decode()
        for name in Form.__dataclass_fields__:
            assert f'<label for="f-{name}">' in page
            assert f'aria-describedby="a-{name}"' in page
            assert re.search(rf'<small id="a-{name}"[^>]*>[^<]+</small>', page)


def test_the_scripts_come_with_the_page_and_with_no_other(files: dict[str, bytes]) -> None:
    """Data, arithmetic and form are loaded in this order by the advisor's page alone."""
    for path, content in files.items():
        if not path.endswith(".html"):
            continue
        found = re.findall(r'src="[^"]*/(sizing-data|sizing|advise)\.[0-9a-f]+\.js"', content.decode())
        assert found == (["sizing-data", "sizing", "advise"] if path.endswith("/advise.html") else []), path


def test_the_page_shows_every_piece_that_there_is_to_copy() -> None:
    """The command, each file and the program's own command line have a place."""
    from distkb.sizing.form import read
    from distkb.sizing.launch import files as launch_files

    assert set(PIECES) == {"torchrun", "distkb", *launch_files(advise(*read(Form())))}


def test_the_data_are_plain_and_carry_both_languages() -> None:
    """The script's sentences are the same keys in both languages, and no option of the command line is among them."""
    sentences = data.values()["sentences"]
    assert set(sentences["en"]) == set(sentences["ko"])
    assert not any(key.startswith("option.") for key in sentences["en"])
