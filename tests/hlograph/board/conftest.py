"""A small benchmark of the corpus, and a submission about it whose replay holds."""

import pytest

from hlograph import corpus
from hlograph.board.claims import ClaimedSteps
from hlograph.board.replaying import replays
from hlograph.board.submission import Submission, SubmittedTrajectory

PASSES = ("call-inliner", "algsimp", "cse", "dce")


@pytest.fixture(scope="session")
def small() -> corpus.Benchmark:
    """Returns the smallest benchmark that the passes reduce."""
    for benchmark in sorted(corpus.load(split="train"), key=lambda b: (b.op_count, b.name)):
        module = benchmark.load()
        for name in PASSES:
            module.run(name)
        if module.op_count < benchmark.op_count:
            return benchmark
    raise AssertionError("the passes reduce no benchmark")


@pytest.fixture(scope="session")
def replayed(small: corpus.Benchmark) -> SubmittedTrajectory:
    """Returns what the passes lead to there."""
    (answer,) = replays([ClaimedSteps.to(None, small.name, PASSES)], samples=1, workers=0)
    assert isinstance(answer, SubmittedTrajectory), answer
    return answer


@pytest.fixture
def submission(replayed: SubmittedTrajectory) -> Submission:
    """Returns a submission that holds."""
    return Submission(
        "four-passes",
        "search",
        "Ada Lovelace",
        "four passes in a row",
        "0123456789+changes",
        "python -m search",
        {"jaxlib": "0.10.2"},
        (replayed,),
    )
