"""How a run came to its end, and the last words of those who did not say why."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import TEXTS, assembled, derived, lines, observed, scan, signatures

from distkb.evidence.run.ends import RESTART, before_endings, fallbacks, last_words, taken_up
from distkb.evidence.run.work import own_words, work_of
from distkb.evidence.scanner.scan import FileScan

CANCELLED = "slurmstepd-node1: error: *** JOB 55 ON node1 CANCELLED AT 2026-11-23T09:45:30 DUE TO TIME LIMIT ***"
KILLED = "srun: error: node1: task 0: Killed"
RAISED = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 4, in main\n    f()\n'
TIMEOUT = f"{RAISED}RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation to complete\n"


def ids(text: str) -> list[str]:
    """What a launcher's reports say that stay after endings are taken into account."""
    (left,) = before_endings([scan(text)], signatures())
    assert set(left.counts) == {hit.signature for hit in left.hits}
    return [hit.signature for hit in left.hits]


def test_a_task_that_slurm_kills_at_the_end_was_not_killed_before() -> None:
    """What Slurm reports of tasks after it ended the job is the ending's; before it, it is a failure."""
    assert "ending.task-killed" not in ids(f"step 1\n{CANCELLED}\nsrun: forcing job termination\n{KILLED}\n")
    assert "ending.task-killed" in ids(f"step 1\n{KILLED}\n{CANCELLED}\n")


@pytest.mark.parametrize("how", ["Killed", "Out Of Memory", "Segmentation fault", "Bus error"])
def test_a_task_that_was_killed_comes_before_those_that_lost_it(how: str) -> None:
    """A task that Slurm says was killed failed first, although its report stands behind the others' errors."""
    closed = TIMEOUT.replace("Timed out waiting 5000ms for recv operation to complete", "Connection closed by peer")
    text = "".join(f"[rank1]: {line}\n" for line in closed.splitlines())
    seen = observed(scan(f"[rank0]: step 1\n[rank1]: step 1\n{text}{KILLED.replace('Killed', how)}\n"))
    assert seen["run.killed-first"].quotes[0].rank == 0


def test_reports_of_a_thousand_nodes_belong_to_one_ending() -> None:
    """Each report counts from the one before it, so that the last of many nodes is no failure either."""
    reports = "\n".join(f"srun: error: node{node}: task {node}: Killed" for node in range(1000))
    assert set(ids(f"step 1\n{CANCELLED}\n{reports}\n")) == {"ending.time-limit"}


def test_a_run_that_goes_on_after_a_requeue_can_fail() -> None:
    """A task that is killed long after an ending in the same file was killed in the next run."""
    next_run = "\n".join(f"step {step} loss 0.5" for step in range(200))
    assert "ending.task-killed" in ids(f"{CANCELLED.replace('TIME LIMIT', 'JOB REQUEUE')}\n{next_run}\n{KILLED}\n")


def test_no_rank_is_said_to_have_been_ended_alone_by_the_label_of_a_step() -> None:
    """A job that was killed at its time limit shows no rank that failed first."""
    text = f"0: step 1\n1: step 1\n{CANCELLED}\n0: {CANCELLED.replace('JOB 55', 'STEP 55.0')}\n{KILLED}\n"
    assert not {"run.killed-first", "logs.one-rank-failed-first", "logs.only-echoes"} & set(observed(scan(text)))


def test_last_words_are_those_of_the_silent() -> None:
    """Where some ranks timed out, the last words are those of the rank that says nothing of it."""
    result = derived(scan(f"step 1\nstep 2\n{TIMEOUT}", "rank_0.log", 0), scan("step 1\ntokenizing\n", "rank_1.log", 1))
    said = own_words(result.run, work_of(result.run, result.timeline, warnings=True))
    found = last_words(result.run, result.timeline, said)
    assert {process.rank for process, _ in found} == {1}
    assert found[-1][1].text == "tokenizing"


def test_nobody_has_last_words_where_one_says_what_failed() -> None:
    """Where a rank raised an exception of its own, what the others printed last says nothing."""
    result = derived(
        scan(f"step 1\n{RAISED}ValueError: no\n", "rank_0.log", 0), scan("step 1\nsaving\n", "rank_1.log", 1)
    )
    assert last_words(result.run, result.timeline, work_of(result.run, result.timeline)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "epoch 2 done\n",
        "step 99/100\nstep 100/100\n",
        "Training finished.\n",
        "epoch 1/2 step 60 accuracy 0.3\nepoch 2/2 step 120 accuracy 0.4\n",
        "loss 0.3\nbest f1 0.008\nexit code 0\n",
    ],
)
def test_a_run_that_came_to_its_end_is_completed(text: str) -> None:
    """Every rank said that it finished, or counted to its end."""
    assert "run.completed" in observed(scan(text, "rank_0.log", 0), scan(text, "rank_1.log", 1))


@pytest.mark.parametrize("text", ["step 98/100\n", "step 1\n", f"epoch 2 done\n{CANCELLED}\n"])
def test_a_run_of_which_one_did_not_finish_is_not_completed(text: str) -> None:
    """One rank that stopped midway is enough, and so is an ending from outside."""
    assert "run.completed" not in observed(scan("epoch 2 done\n", "rank_0.log", 0), scan(text, "rank_1.log", 1))


def test_one_rank_that_exited_well_does_not_speak_for_the_others() -> None:
    """The exit code 0 of one rank leaves open what became of another; that of the job's console is of all."""
    well, midway = "step 9\nexit code 0\n", "step 98/100\n"
    assert "run.completed" not in observed(scan(well, "rank_0.log", 0), scan(midway, "rank_1.log", 1))
    assert "run.completed" in observed(scan(well, "rank_0.log", 0), scan(well, "rank_1.log", 1))


def test_a_restart_that_forgets_is_told_from_one_that_resumes() -> None:
    """A later try that begins where the first began started over; one that begins where it left off did not."""
    first, again, resumed = (
        {"": lines(*(f"step {step}" for step in steps))} for steps in (range(5), range(5), range(5, 9))
    )
    forgot = taken_up([first, again])
    assert forgot is not None
    assert forgot.anew
    assert [line.text for line in forgot[:2]] == ["step 4", "step 0"]
    went_on = taken_up([first, resumed])
    assert went_on is not None
    assert not went_on.anew
    assert taken_up([first]) is None


def test_what_came_to_its_end_was_not_to_go_on() -> None:
    """Programs that are started one after another with other settings each begin at the start."""
    bars = [f"{at}/12 |####| {at}/12 [00:0{at % 10}<00:09, 2.1it/s]" for at in range(4, 13, 4)]
    assert taken_up([{"": lines(*bars)}, {"": lines(*bars)}]) is None
    assert taken_up([{"": lines(*bars[:2])}, {"": lines(*bars)}]) is not None
    assert taken_up([{"": lines(*bars[:2], "training finished")}, {"": lines(*bars)}]) is None


def test_what_is_set_and_what_prepares_are_no_steps() -> None:
    """They are said again by a run that goes on from a checkpoint too."""
    said = ["Loading shards: 50%|##| 1/2 [00:01<00:03,  1.02s/it]", "Gradient accumulation steps = 8"]
    first, again = ([f"step {step} loss 0.5" for step in steps] for steps in (range(9, 90, 9), range(50, 90, 9)))
    for later, anew in ((again, False), (first, True)):
        taken = taken_up([{"": lines(*said, *first)}, {"": lines(*said, *later)}])
        assert taken is not None
        assert taken.anew is anew


def test_a_file_that_begins_anew_is_cut_there() -> None:
    """Where the first line comes again and the counter falls back, another run begins in the same file."""
    once = ["world size 4", *(f"step {step}" for step in range(5))]
    assert fallbacks(lines(*once, *once)) == [len(once)]
    assert fallbacks(lines(*once, "world size 4", *(f"step {step}" for step in range(5, 9)))) == []
    assert fallbacks(lines(*itertools.chain.from_iterable([once] * (RESTART + 3)))) == []


@given(st.lists(TEXTS, max_size=30))
def test_cuts_lie_in_the_file_and_where_its_first_line_comes_again(texts: list[str]) -> None:
    """Whatever a process prints, cuts are places behind its beginning, in order and without repeats."""
    cuts = fallbacks(lines(*texts))
    assert cuts == sorted(set(cuts))
    assert all(0 < cut < len(texts) for cut in cuts)


@given(st.lists(st.lists(TEXTS, max_size=12), max_size=4))
def test_any_tries_can_be_compared(tries: list[list[str]]) -> None:
    """Comparing tries never fails, and what it shows are lines of two of them."""
    given_lines = [{"": lines(*texts, path=f"{index}.log")} for index, texts in enumerate(tries)]
    shown = taken_up(given_lines)
    if shown is not None:
        assert shown[0].path < shown[1].path


def test_a_console_without_ranks_speaks_before_its_first_failure() -> None:
    """On a console whose lines carry no rank the last words are those before somebody gave up."""
    text = f"step 1\nexporting\n{TIMEOUT}bye\n"
    run = assembled(text)
    result = derived(scan(text, "0.log"))
    found = last_words(result.run, result.timeline, work_of(run, result.timeline, warnings=True))
    assert [line.text for _, line in found] == ["step 1", "exporting"]


@pytest.mark.parametrize(("ended", "quiet"), [("10:00:50", True), ("10:00:11", False)])
def test_silence_before_an_ending_is_a_hang(ended: str, quiet: bool) -> None:
    """A run that had long printed nothing when it was stopped was frozen; one that printed to the end was not."""
    steps = "".join(f"2026-11-23 10:00:0{at} [rank{r}] step {at} loss 0.5\n" for at in range(10) for r in (0, 1))
    agent = "torch/distributed/elastic/agent/server/api.py:753] Received 15 death signal, shutting down workers"
    assert ("run.quiet-before-end" in observed(scan(f"{steps}W1123 {ended}.000000 7 {agent}\n"))) is quiet


@pytest.mark.parametrize(
    ("times", "ended", "goes"),
    [
        (("02", "09", "20", "34"), "10:00:48", True),
        (("02", "09", "20", "34"), "10:01:20", False),
        (("02", "03", "04", "05"), "10:00:13", False),
        (("02", "09"), "10:00:15", False),
    ],
)
def test_a_run_whose_lines_still_come_when_it_is_stopped_goes(times: Sequence[str], ended: str, goes: bool) -> None:
    """Where the next line was not overdue yet, an interrupt met the ranks anywhere: none of them waits for good."""
    steps = "".join(f"10:00:{at} step {at} loss 0.5\n" for at in times)
    stand = '  File "/app/train.py", line {}, in main\n    {}\n'
    inside = '  File "/env/torch/distributed/distributed_c10d.py", line 2, in all_reduce\n    work.wait()\n'
    traces = "".join(
        f"[rank{rank}]: Traceback (most recent call last):\n"
        + "".join(f"[rank{rank}]: {line}\n" for line in (stand.format(line, call) + inner).splitlines())
        + f"[rank{rank}]: KeyboardInterrupt\n"
        for rank, line, call, inner in ((0, 9, "rows = sorted(rows)", ""), (1, 8, "dist.all_reduce(x)", inside))
    )
    agent = f"W1123 {ended}.000000 7 torch/distributed/elastic/agent/server/api.py:753] Received 2 death signal\n"
    seen = observed(scan(f"{steps}{agent}{traces}"))
    assert ("run.going-at-end" in seen) is goes
    assert ("run.one-works" in seen) is not goes


@pytest.mark.parametrize(("ended", "quiet"), [("10:00:50", True), ("10:00:12", False)])
def test_a_long_silence_behind_the_first_lines_is_one_too(ended: str, quiet: bool) -> None:
    """Of a run that printed too little for its pace to be known, only a long pause is a silence, and not a sure one."""
    hello = "".join(f"2026-11-23 10:00:02 [rank{rank}] hello from rank {rank}\n" for rank in (0, 1))
    agent = "torch/distributed/elastic/agent/server/api.py:753] Received 15 death signal, shutting down workers"
    seen = observed(scan(f"{hello}W1123 {ended}.000000 7 {agent}\n"))
    assert ("run.quiet-before-end" in seen) is quiet
    assert not quiet or seen["run.quiet-before-end"].certainty < 1.0


def test_a_restart_that_stops_where_the_first_try_went_on_is_stuck() -> None:
    """It is not where it got further, and not where the second try failed in its own way."""
    ready, waits = "attempt 0, waiting for 2 workers\nprocess group ready\nstep 1\nstep 2\n", "attempt 1, waiting\n"

    def tries(again: str) -> list[FileScan]:
        return [
            scan(text, f"logs/attempt_{number}/{rank}/stderr.log", rank, attempt=number)
            for number, text in enumerate((ready.replace(" for 2 workers", ""), again))
            for rank in (0, 1)
        ]

    assert [quote.text for quote in observed(*tries(waits))["run.stuck-again"].quotes] == [
        "attempt 1, waiting",
        "process group ready",
    ]
    assert "run.stuck-again" not in observed(*tries(f"{waits}process group ready\nstep 1\nstep 2\nstep 3\n"))
    assert "run.stuck-again" not in observed(*tries(f"{waits}{RAISED}FileExistsError: out\n"))


def test_an_end_without_a_time_of_its_own_tells_of_no_pace() -> None:
    """A Ctrl-C's traceback carries no time, so nobody knows how long nothing had come: it may have hung for hours."""
    steps = "".join(f"10:00:0{at} step {at} loss 0.5\n" for at in range(2, 9))
    trace = 'Traceback (most recent call last):\n  File "/app/launch.py", line 4, in main\n    for line in out:\n'
    seen = observed(scan(f"{steps}{trace}KeyboardInterrupt\n"))
    assert "run.going-at-end" not in seen
    assert seen["run.quiet-before-end"].certainty < 1.0


def test_the_year_of_the_runs_own_lines_holds_for_the_launchers() -> None:
    """A launcher's date without a year is of the year that other lines print, however many lines it ends with."""
    steps = "".join(f"2026-11-23 10:00:0{at},000 INFO step {at} loss 0.5\n" for at in range(6))
    agent = "W1123 10:00:40.000000 7 torch/distributed/elastic/agent/server/api.py:753] Received 2 death signal\n"
    closing = "W1123 10:00:40.000000 7 torch/x.py:1] Sending process {} closing signal SIGINT\n"
    assert "run.quiet-before-end" in observed(scan(steps + agent + "".join(map(closing.format, range(4)))))


def test_a_run_without_times_that_somebody_stopped_was_probably_silent() -> None:
    """Nobody stops by hand a run that goes on; without times that is less sure than a pause."""
    steps = "".join(f"step {at} loss 0.5\n" for at in range(6))
    agent = "torch/distributed/elastic/agent/server/api.py:753] Received 2 death signal, shutting down workers\n"
    seen = observed(scan(f"{steps}preview of 12 images\n{agent}"))
    assert seen["run.quiet-before-end"].certainty < 1.0
    assert [quote.text for quote in seen["run.stopped-at-news"].quotes] == ["preview of 12 images"]


def test_a_log_that_stops_with_some_ranks_further_on_hangs() -> None:
    """Nothing says why: two ranks printed a line that rank 0 never reached, and there the output ends."""
    ranks = ("[rank0]: ", "[rank1]: ", "[rank2]: ", "[rank3]: ")
    start = "".join(f"{rank}group up\n{rank}wrapped\n{rank}epoch 0 it 4 loss 0.{n}\n" for n, rank in enumerate(ranks))
    seen = observed(scan(f"{start}[rank2]: epoch 0 finished\n[rank3]: epoch 0 finished\n"))
    assert [quote.rank for quote in seen["run.stopped-apart"].quotes] == [2, 3, 0, 1]
    assert "run.stopped-apart" not in observed(scan(f"{start}[rank0]: epoch 0 finished\n")), "rank 0 prints for all"
    assert "run.stopped-apart" not in observed(scan(start))
    again = "".join(f"{rank}epoch {epoch} training\n" for rank in ranks[:2] for epoch in range(2 if "1" in rank else 1))
    seen = observed(scan("".join(line for line in start.splitlines(True) if line[5] in "01") + again))
    assert [quote.rank for quote in seen["run.stopped-apart"].quotes] == [1, 0], "rank 1 has begun one epoch more"


def test_members_that_never_came_are_missed() -> None:
    """Two of four members announced themselves, and nothing was printed after that."""
    lines = "".join(f"Initializing distributed: GLOBAL_RANK: {n}, MEMBER: {n + 1}/4\n" for n in range(2))
    assert len(observed(scan(lines))["run.never-joined"].quotes) == 2
    assert "run.never-joined" not in observed(scan(f"{lines}step 1 loss 0.5\nstep 2 loss 0.4\n"))


@pytest.mark.parametrize(
    ("lines", "twice"),
    [
        ("10:00:01 pid 71 rank 0 of 2\n10:00:02 pid 72 rank 0 of 2\n", True),
        ("10:00:01 pid 71 rank 0 of 2\n10:00:02 pid 71 rank 0 of 2\n", False),
        ("10:00:01 pid 71 rank 0 of 3\n10:00:02 pid 72 rank 1 of 3\n", False),
    ],
)
def test_two_processes_that_are_the_same_rank(lines: str, twice: bool) -> None:
    """The pids tell that two processes, and not one twice, took one number."""
    assert ("run.rank-taken-twice" in observed(scan(lines))) is twice


@pytest.mark.parametrize("label", ["[tiles:{}] ", "(gpu{}) ", "r{}/2 ", "<{}> ", "[gpu{} + 10.1s] ", "windfarm[{}] "])
def test_a_programs_own_labels_tell_the_ranks_of_a_console(label: str) -> None:
    """A word and a number before every message are the rank where all lines of the file bear it out."""
    text = "".join(f"{label.format(rank)}epoch {epoch} loss 0.{epoch}{rank}\n" for epoch in range(4) for rank in (1, 0))
    assert [process.rank for process in assembled(text).ranked] == [0, 1]


def test_counters_in_brackets_are_no_ranks() -> None:
    """`[epoch 0]` and `[step:1]` count, whoever prints them."""
    text = "".join(f"[epoch {epoch}] loss 0.5\n[step:{epoch}] loss 0.4\n" for epoch in (0, 1, 0, 1, 0, 1))
    assert assembled(text).ranked == []


def test_an_abort_after_a_wait_that_failed_is_no_cause() -> None:
    """A rank that gives up waiting may abort while it ends; one that aborts by itself has failed first."""
    waited = "".join(f"[rank1]: {line}\n" for line in TIMEOUT.splitlines())
    abort = "[rank1]: terminate called without an active exception\n"
    alone = observed(scan(f"[rank0]: step 1\n[rank1]: step 1\n{waited}{abort}"))
    assert not {"run.failed-first", "logs.one-rank-failed-first"} & set(alone)
    lost = "RuntimeError: [/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:23965"
    closed = "".join(f"[rank0]: {line}\n" for line in f"{RAISED}{lost}".splitlines())
    first = observed(scan(f"[rank0]: step 1\n[rank1]: step 1\n{abort}{closed}"))
    assert first["logs.one-rank-failed-first"].quotes[0].rank == 1


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("step 3\nruns/base is not empty, start over? [y/N] ", True),
        ("step 3\nWhich run shall be resumed? ", True),
        ("step 3\nOverwrite (a/b)?: ", True),
        ("step 3\nruns/base is not empty, start over? [y/N]\n", False),
        ("step 3\nepoch 1:  50%|###   | 5/10 [00:01<00:01, 4.9it/s]", False),
        ("step 3 loss ?\nstep 4", False),
    ],
)
def test_an_output_that_ends_in_a_question_waits_for_somebody_to_type(text: str, asks: bool) -> None:
    """A prompt leaves the cursor behind it; a question that is only printed ends its line."""
    assert ("run.ends-in-question" in observed(scan(text, "rank0.log", 0))) == asks


@pytest.mark.parametrize(("reached", "done"), [(240, True), (200, False)])
def test_one_rank_may_say_for_all_that_the_run_is_done(reached: int, done: bool) -> None:
    """Ranks that made as many steps as the one that says it have come to their end; one that stands behind has not."""
    first = "".join(f"step {n} loss 0.5\n" for n in range(20, 260, 20)) + "finished in 25.4s\n"
    second = "".join(f"step {n} loss 0.6\n" for n in range(20, reached + 20, 20))
    seen = derived(scan(first, "rank0.log", 0), scan(second, "rank1.log", 1))
    assert ("run.completed" in {one.id for one in seen.observations}) == done
    assert [one.state for one in seen.ranks] == ["done", "done" if done else "silent"]
