"""Tables that a run wrote of its numbers are read as lines that name each number; other tables are no logs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import built_in
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb import intake
from distkb.catalogue.places import cache_directory
from distkb.evidence.text.opening import open_text
from distkb.evidence.text.tables import NamedRows, columns

HEAD = "step,loss,grad_norm,weight_norm\n"


@pytest.mark.parametrize(
    "head",
    ["step,loss\n", "epoch,step,train_loss,val_loss\r\n", '"global_step","train/loss"\n', "time,iter,lr,reward\n"],
)
def test_a_table_of_what_a_run_learnt_is_known_by_its_head(head: str) -> None:
    """A column counts, and another is of a loss, a rate or a measure."""
    assert columns(head.encode())


@pytest.mark.parametrize(
    "head",
    ["timestamp,load,temperature\n", "user,item,rating\n", "step 1 loss 0.3\n", "1,2,3\n", "", "loss,accuracy\n"],
)
def test_a_table_of_data_is_none(head: str) -> None:
    """What has no column that counts steps is data, and no log."""
    assert columns(head.encode()) == ()


@given(st.lists(st.text(alphabet='0123456789.,e-" ab', max_size=12), max_size=8), st.integers(1, 50), st.booleans())
def test_every_row_stays_in_its_line(rows: list[str], size: int, ends: bool) -> None:
    """However much is asked for at once, each row gives one line, and one that does not fit stays as it is."""
    data = (HEAD + "\n".join(rows) + ("\n" if ends else "")).encode()
    names = columns(HEAD.encode())
    reader = NamedRows(names, io.BytesIO(data))
    said = b"".join(iter(lambda: reader.read(size), b"")).decode().split("\n")
    given = data.decode().split("\n")
    assert len(said) == len(given) + (given[-1] != "")
    for before, after in zip(given[1:], said[1:], strict=False):
        cells = next(csv.reader([before.strip()]), [])
        told = " ".join(f"{name} {cell.strip()}" for name, cell in zip(names, cells, strict=False) if cell.strip())
        assert after == (told if len(cells) == len(names) else before)


def test_rows_say_the_names_of_their_numbers(tmp_path: Path) -> None:
    """An empty cell is left out, and a row with too few cells stays as it is."""
    table = tmp_path / "metrics.csv"
    table.write_text("epoch,step,train_loss,val_loss\n0,10,0.5,\n0,20,,0.75\n1,2\n")
    raw, reader = open_text(table)
    with raw:
        said = reader.read(1 << 16).decode().splitlines()
    assert said[1:] == ["epoch 0 step 10 train_loss 0.5", "epoch 0 step 20 val_loss 0.75", "1,2"]


def test_the_numbers_of_ranks_in_tables_are_laid_side_by_side(tmp_path: Path) -> None:
    """Weights that agree in pairs of ranks and differ between them are told from their tables alone."""
    for rank in range(4):
        rows = [f"{step},{1 / step + rank / 100:.4f},0.4,{27 + rank // 2 + step / 10:.5f}" for step in range(1, 9)]
        (tmp_path / f"rank{rank}.csv").write_text(HEAD + "\n".join(rows) + "\n")
    (tmp_path / "load.csv").write_text("timestamp,load\n2024-01-01 00:00:00,3\n")
    found = intake.read(built_in.catalogue(), [tmp_path], cache_dir=cache_directory())
    seen = {o.id: o for o in found.observations if o.present}
    assert "agrees-in-groups.weights" in seen
    assert "weight_norm" in seen["agrees-in-groups.weights"].quotes[0].text
    assert all("load.csv" not in (q.path or "") for o in found.observations for q in o.quotes)


def test_records_of_a_run_are_output_and_examples_of_a_data_set_are_not(tmp_path: Path) -> None:
    """A file of JSON lines is read where its records count or measure the training."""
    for rank in range(2):
        rows = (f'{{"step": {n}, "loss": 0.{n}{rank}41, "neg_pop": 0.7{n}064}}\n' for n in range(1, 9))
        (tmp_path / f"train_rank{rank}.jsonl").write_text("".join(rows))
    (tmp_path / "corpus.jsonl").write_text('{"text": "step 1 of 2: error: try again", "label": 3}\n' * 9)
    found = intake.read(built_in.catalogue(), [tmp_path], cache_dir=cache_directory())
    seen = {o.id: o for o in found.observations if o.present}
    assert "agrees.drawn" in seen
    assert all("corpus" not in (q.path or "") for o in found.observations for q in o.quotes)
