"""Repeats recorded walks in an interpreter of its own.

Workers of a pool are copies of one process, with its addresses and hash seeds; what depends on
those shows only here. The interpreter takes walks from the campaign that starts it, from nobody
else: what comes in is pickled.
"""

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tests.campaigns.passes.records import Finding, Tally, WalkRecord

_SECONDS_PER_WALK = 120


def replay_in_fresh_interpreter(records: Sequence[WalkRecord]) -> tuple[list[Finding], int]:
    """Repeats walks in one new interpreter.

    Returns:
        Walks that led elsewhere, and how many were repeated. An interpreter that dies, or takes
        longer than two minutes for each walk, is a finding at the walk that it was at.
    """
    findings: list[Finding] = []
    done = 0
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-m", "tests.campaigns.fuzz_replay"]
        try:
            ended = subprocess.run(
                command,
                input=pickle.dumps(list(records)),
                stdout=output,
                stderr=subprocess.PIPE,
                timeout=_SECONDS_PER_WALK * len(records),
                check=False,
            )
            why = f"exit status {ended.returncode}: {ended.stderr[-500:].decode(errors='replace')}"
        except subprocess.TimeoutExpired:
            why = "no end"
        output.seek(0)
        while done < len(records):
            try:
                finding = pickle.load(output)
            except EOFError:
                at = records[done]
                text = f"a fresh interpreter, at this walk: {why}"
                findings.append(Finding("crash", at.benchmark, at.passes, text))
                break
            done += 1
            findings += [finding] if finding else []
    return findings, done


def main() -> None:
    """Reads walks, repeats them, and writes one answer each."""
    from hlograph import corpus
    from hlograph.isolation import FlightRecorder
    from tests.campaigns.passes.walks import Visitor

    visitor = Visitor(FlightRecorder())
    for record in pickle.load(sys.stdin.buffer):
        start = corpus.benchmark(record.benchmark).load()
        pickle.dump(visitor.repeat(record, start, Tally()), sys.stdout.buffer)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
