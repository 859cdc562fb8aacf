"""The cross-fire table is whole: a row for every program, and a reason for every cell off its diagonal."""

from __future__ import annotations

from crossfire import cells_of, explained, owners, read_table, reasons
from refresh import Record, differences, general, read_seen
from reproductions import catalogue, with_program

COMMAND = "run: python tests/repro/refresh.py"


def test_every_program_has_a_row_of_its_own_signatures() -> None:
    """On every program something fires that its entry promises."""
    rows = {cell.program for cell in read_table() if cell.owner == cell.program}
    assert {entry.id for entry in with_program()} == rows, COMMAND


def test_the_table_follows_from_what_was_seen() -> None:
    """The table is computed from the record and the catalogue as they are now."""
    seen = read_seen()
    expected = [cell for name in seen for cell in cells_of(name, seen[name].seen)]
    assert read_table() == expected, COMMAND


def test_every_cell_off_the_diagonal_has_a_reason() -> None:
    """A signature that fires on another entry's program is explained, or should be made more precise."""
    cells = [(cell.program, cell.owner, name) for cell in read_table() for name in cell.signatures]
    assert [cell for cell in cells if not explained(*cell)] == []


def test_no_reason_is_left_over() -> None:
    """Every reason explains a cell that is in the table, and speaks of things that exist."""
    needed = {
        (name, cell.program) for cell in read_table() for name in cell.signatures if cell.program not in owners()[name]
    }
    known = {entry.id for entry in catalogue().entries}
    for reason in reasons():
        assert reason.because.endswith(".")
        assert set(reason.programs) <= known
        fired = {program for name, program in needed if name == reason.signature}
        assert fired, f"{reason.signature} fires on no other program"
        assert set(reason.programs) <= fired, f"{reason.signature}: {sorted(set(reason.programs) - fired)}"
    assert len({reason.signature for reason in reasons()}) == len(reasons())


def test_numbers_and_paths_make_no_difference() -> None:
    """Two runs of one program compare equal line by line; a new, a missing and a changed message are named."""
    one = "[rank1]: RuntimeError: [/a/b/pair.cc:553] Connection closed by peer [127.0.0.1]:5019"
    two = "[rank0]: RuntimeError: [/c/pair.cc:561] Connection closed by peer [127.0.0.1]:16779"
    assert general(one) == general(two)
    before = Record(torch="2.13", seen={"a": "old words", "b": "gone"})
    after = Record(torch="2.15", seen={"a": "new words", "c": "came"})
    printed = "\n".join(differences(before, after))
    assert "+ c: came" in printed
    assert "- b: gone" in printed
    assert "was old words" in printed
    assert "is  new words" in printed
    assert differences(after, after) == []
