"""Replays of what submissions claim, in worker processes that XLA may end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tqdm import tqdm

from hlograph import corpus
from hlograph.board.claims import ClaimedSteps
from hlograph.board.submission import Submission, SubmissionError, SubmittedPlan
from hlograph.board.submission import SubmittedTrajectory as Submitted
from hlograph.decisions.trajectory import Trajectory, check_replay
from hlograph.errors import HloError, WorkerLostError
from hlograph.execution.equivalence import Limits, OriginalModule, Verdict
from hlograph.isolation import FlightRecorder, InProcessPool, WorkerLimits, WorkerPool
from hlograph.measuring.service import try_plan
from hlograph.measuring.trial import Job
from hlograph.module import Module, take_step
from hlograph.plans import Plan, Program

_LIMITS = WorkerLimits(seconds=300.0)
# The evaluator computes element by element; see experiments.evaluate.evaluation.
_COMPARISON = Limits(evaluated_ops=500)
_COMPARISON_SECONDS = 900.0
_BAR_AFTER = 10.0  # seconds


@dataclass(frozen=True)
class Replayer:
    """Replays claims in a worker process.

    Attributes:
        samples: Number of random inputs on which outputs are compared; 0 compares none.
        recorder: Records each operation that may end the process.
    """

    samples: int
    recorder: FlightRecorder

    def __call__(self, claim: ClaimedSteps) -> Submitted | HloError:
        """Returns what the steps of a claim lead to, or the error that says where it fails."""
        try:
            return self._replayed(claim)
        except HloError as error:
            return SubmissionError(f"{claim.benchmark}: {error}")

    def _replayed(self, claim: ClaimedSteps) -> Submitted:
        original = corpus.benchmark(claim.benchmark).load()
        module = original.clone()
        start = original.fingerprint()
        _check("start, its fingerprint", claim.start_fingerprint, start)
        _check("start", claim.op_counts[0], module.op_count)
        counts = []
        for number, (name, expected) in enumerate(
            zip(claim.passes, claim.op_counts[1:], strict=True), 1
        ):
            where = f"step {number} ({name})"
            try:
                with self.recorder.noted(where.encode()):
                    take_step(module, name)
            except HloError as error:
                raise SubmissionError(f"at the {where}: {error}") from error
            counts.append(module.op_count)
            _check(where, expected, counts[-1])
        _check("end, its fingerprint", claim.fingerprint, module.fingerprint())
        trajectory = Trajectory(
            claim.benchmark,
            start,
            original.op_count,
            claim.passes,
            tuple(counts),
            module.fingerprint(),
        )
        with self.recorder.noted(b"the comparison of outputs", _COMPARISON_SECONDS):
            verdict = compare_outputs(original, module, self.samples, claim.outputs)
        return Submitted(trajectory, verdict)


def compare_outputs(
    original: Module, result: Module, samples: int, claimed: Verdict | None
) -> Verdict:
    """Returns the verdict on the outputs of a result.

    Args:
        original: The module before all steps.
        result: The module after them.
        samples: Number of random inputs; 0 compares nothing, and repeats what is claimed.
        claimed: The verdict that is claimed; None claims nothing.

    Raises:
        HloError: The outputs differ, cannot be compared though it is claimed, or XLA's verifier
            rejects the result.
    """
    result.verify()
    if not samples:
        return claimed or "not comparable"
    answer = OriginalModule(original, samples=samples, limits=_COMPARISON).compare(result)
    if answer.verdict == "different":
        raise SubmissionError(f"its outputs are not those of the original: {answer.reason}")
    _check_compared(claimed, answer.verdict, answer.reason)
    return answer.verdict


def replays(
    claims: Sequence[ClaimedSteps], samples: int, workers: int | None
) -> list[Submitted | HloError]:
    """Replays claims, with a bar if this takes long.

    Args:
        claims: The claims.
        samples: Number of random inputs on which outputs are compared; 0 compares none.
        workers: Number of worker processes; None is one a core, 0 is this process, which XLA may
            end.

    Returns:
        For each claim what its steps lead to, or the error that says where it fails.
    """
    answers: dict[int, Submitted | HloError] = {}
    make = partial(Replayer, samples)
    here = workers == 0
    made = InProcessPool(make) if here else WorkerPool(make, workers, _LIMITS, with_main=False)
    with (
        made as pool,
        tqdm(total=len(claims), unit="module", delay=_BAR_AFTER, disable=None) as bar,
    ):
        for number, answer in pool.map(claims):
            if isinstance(answer, WorkerLostError):
                answer = _lost(claims[number], answer)
            answers[number] = answer
            bar.update()
    return [answers[number] for number in range(len(claims))]


def check_plan(name: str, plan: Plan, claimed: Verdict | None = None) -> SubmittedPlan:
    """Carries a plan out on a program of the corpus, and compares the outputs.

    Its speed is a claim: it holds for the machine that it names.

    Args:
        name: Name of the program.
        plan: The plan.
        claimed: Verdict that is claimed of its outputs; None claims nothing.

    Raises:
        HloError: It is for another program, cannot be carried out, or its outputs differ.
    """
    program = Program.of(corpus.benchmark(name).source)
    plan.check(program, here=False)
    outcome = try_plan(Job(program, None, plan.numerics), plan)
    if outcome.error or outcome.checks is None:
        raise SubmissionError(f"this plan is refused: {outcome.error}")
    verdict = outcome.checks.verdict
    _check_compared(claimed, verdict, outcome.checks.reason)
    return SubmittedPlan(name, plan, verdict)


def differences(submission: Submission, samples: int, workers: int | None) -> Iterator[str]:
    """Replays a submission, and yields a line for each trajectory and plan that differs from it.

    Args:
        submission: The submission.
        samples: As for ``replays``.
        workers: As for ``replays``.
    """
    claims = [ClaimedSteps.of(each.trajectory, each.outputs) for each in submission.trajectories]
    for answer in replays(claims, samples, workers) if claims else ():
        if isinstance(answer, HloError):
            yield str(answer)
    for each in submission.plans:
        try:
            check_plan(each.benchmark, each.plan, each.outputs)
        except HloError as error:
            yield f"{each.benchmark}: {error}"


def _check(where: str, claimed: object, replayed: object) -> None:
    if claimed is not None:
        check_replay(where, claimed, replayed)


def _check_compared(claimed: Verdict | None, verdict: Verdict, reason: str) -> None:
    """Refuses outputs that are claimed to be equal or close, and cannot be compared."""
    if verdict == "not comparable" and claimed not in (None, verdict):
        raise SubmissionError(
            f"the submission says that its outputs are {claimed}, and they cannot be compared: "
            f"{reason}"
        )


def _lost(claim: ClaimedSteps, error: WorkerLostError) -> HloError:
    at = (error.note or b"its start").decode("utf-8", "replace")
    return SubmissionError(f"{claim.benchmark}: at {at}: {error}")
