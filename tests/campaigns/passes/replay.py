"""Repeats recorded walks in an interpreter of its own.

Workers of a pool are copies of one process, with the same addresses and hash seeds. A dependence on
those appears only here.
"""

from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from hlograph.isolation import FlightRecorder
from tests.campaigns.framework.module_sets import load
from tests.campaigns.passes.records import Finding, Tally, WalkRecord
from tests.campaigns.passes.walks import repeat

_SECONDS_PER_WALK = 120


def replay_in_fresh_interpreter(records: Sequence[WalkRecord]) -> tuple[list[Finding], int]:
    """Repeats walks in one new interpreter.

    Returns:
        Findings of walks that ended differently, and the number of repeated walks. A walk that ends
        the interpreter, raises an exception or takes longer than two minutes is the last finding.
    """
    context = get_context("spawn")
    answers, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_replay, args=(records, theirs), daemon=True)
    process.start()
    theirs.close()
    findings: list[Finding] = []
    try:
        for done, record in enumerate(records):
            why = _failure(process, answers, findings)
            if why:
                text = f"a fresh interpreter, at this walk: {why}"
                return [*findings, Finding("crash", record.benchmark, record.passes, text)], done
    finally:
        process.kill()
        process.join()
    return findings, len(records)


def _failure(process: BaseProcess, answers: Connection, findings: list[Finding]) -> str:
    """Waits for the next answer, adds its finding, and returns the reason if there is none."""
    if not answers.poll(_SECONDS_PER_WALK):
        return "it did not end in time"
    try:
        answer = answers.recv()
    except EOFError:
        process.join()
        return f"exit status {process.exitcode}"
    if isinstance(answer, str):
        return answer
    findings += [answer] if answer else []
    return ""


def _replay(records: Sequence[WalkRecord], answers: Connection) -> None:
    """Repeats walks and sends for each a finding or None, or the text of an exception."""
    recorder = FlightRecorder()
    for record in records:
        try:
            answers.send(repeat(record, load(record.benchmark), recorder, Tally()))
        except Exception as error:  # whatever a walk raises is a finding
            answers.send(repr(error))
