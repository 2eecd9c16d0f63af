"""A process beside the program: what it answers, and when it ends."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import SideProcess
from tests.hlograph.isolation import side_tasks as tasks

ROOT = Path(__file__).parents[3]


def _ended(*pids):
    processes = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(processes, timeout=20)
    return not alive


def test_answers():
    process = SideProcess(tasks.task(tasks.numbers, 3))
    assert list(process.answers()) == [0, 1, 2]
    assert _ended(process.pid)


@pytest.mark.parametrize(
    ("task", "error", "words"),
    [(tasks.failing, HloError, "something else"), (tasks.dying, WorkerLostError, "SIGSEGV")],
)
def test_a_task_that_fails(task, error, words):
    process = SideProcess(tasks.task(task))
    answers = process.answers()
    assert next(answers) == 1
    with pytest.raises(error, match=words):
        next(answers)
    assert _ended(process.pid)


def test_it_and_its_workers_have_a_low_priority_and_end_with_its_answers():
    process = SideProcess(tasks.task(tasks.endless))
    answers = process.answers()
    pids, priorities = zip(*next(answers), strict=True)
    assert pids[0] == process.pid
    assert all(priority > os.getpriority(os.PRIO_PROCESS, 0) for priority in priorities)
    answers.close()
    assert _ended(*pids)


def test_kill_from_another_thread():
    process = SideProcess(tasks.task(tasks.endless))
    answers = process.answers()
    next(answers)
    process.kill()
    with pytest.raises(WorkerLostError, match="SIGKILL"):
        next(answers)


def test_it_ends_with_the_program_that_is_killed():
    code = "from hlograph.isolation import SideProcess\n"
    code += "from tests.hlograph.isolation import side_tasks as tasks\n"
    code += "for answer in SideProcess(tasks.task(tasks.endless)).answers():\n"
    code += "    print(*(pid for pid, _ in answer), flush=True)\n"
    program = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert program.stdout is not None
    pids = [int(word) for word in program.stdout.readline().split()]
    assert len(pids) == 2
    program.kill()
    _, err = program.communicate(timeout=60)
    assert _ended(*pids)
    assert err == ""
