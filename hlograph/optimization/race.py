"""The race of plans of one program, under a budget."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from hlograph._native import has_engine
from hlograph.errors import NotExecutableError
from hlograph.isolation import start_server
from hlograph.measuring.references import Judgement
from hlograph.measuring.samples import others
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import (
    FINAL,
    LONG_RUN,
    SCREEN,
    Effort,
    Job,
    MeasurementRequest,
    PlanMeasurement,
)
from hlograph.measuring.verification import Checks, merged
from hlograph.optimization.judging import DefaultOnTrial
from hlograph.optimization.leading import (
    CONFIRMATIONS,
    final_seconds,
    finalists,
    in_final,
    leads,
    may_beat,
    run_seconds,
    safe_ratio,
    winner_of,
)
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.methods import Proposers
from hlograph.optimization.objectives import by_objective, within_memory
from hlograph.optimization.report import Report
from hlograph.optimization.search_settings import SearchSettings
from hlograph.optimization.watching import Watch, unwatched
from hlograph.plans import Numerics, Plan
from hlograph.plans.flags import allows_fast_math

# So many plans are measured in fresh processes at most. Time is kept for two of them.
_FINALISTS, _LIKELY = 3, 2

# A search with its final may take this many budgets, and a final may always take as long as so many
# runs with the finalist save. A longer one is left to a search with a larger budget.
_OVERTIME, _REPAID = 2.0, 20.0

# The same code is up to a fifth slower in one process than in another, by where its memory lies: a
# lead below this has to hold in more processes.
_SURE = 1.25

# Share of the budget that is kept for the final at most, and the share that the timing in one of
# its processes takes at most. Where that leaves few pairs, intervals are wide: fewer plans lead.
_MOST_FINAL, _TIMING = 0.5, 0.1

# Seconds, and share of the budget, in which methods may begin to think before any is asked, while
# workers compile the default: where that takes long, there is time for few plans.
_MOST_WAIT, _WAIT = 2.0, 0.2

WORKERS = 2
"""Number of worker processes of a race that measure side by side."""

_PRELOADED = ("hlograph.optimization.preloaded",)


def start_workers() -> None:
    """Starts the server of a race's worker processes, which imports what they need meanwhile."""
    start_server(_PRELOADED)


@dataclass
class Race:
    """A race of plans beside jaxlib's default.

    Args:
        job: The program and the conditions.
        settings: The budget, the methods, and whether what was measured before counts. What the
            store has does not.
        measurements: Keeps the outcomes. What it has is not measured again: methods are told of it
            before they are asked.
        watch: Function that is told of each outcome.
        say: Function that shows the user a sentence.
        first: Plans to measure before those of the methods.
        workers: Number of worker processes.
        spent: Seconds of the budget that are over, in a race that goes on.
        enough: Ratio of a plan that ends the screening, when its whole interval lies above.

    Attributes:
        outcomes: All outcomes so far.
        before: Number of the first of them, which earlier races had measured.
        interrupted: True if the user ended the race by Ctrl-C.
    """

    job: Job
    settings: SearchSettings
    measurements: Measurements
    watch: Watch = unwatched
    say: Callable[[str], None] = lambda sentence: None
    first: Iterable[Plan] = ()
    workers: int = field(default_factory=lambda: WORKERS)
    spent: float = 0.0
    enough: float = math.inf
    outcomes: list[PlanMeasurement] = field(default_factory=list)
    before: int = 0
    interrupted: bool = False

    @property
    def budget(self) -> float:
        """Seconds for all, the final included."""
        return self.settings.budget

    def search(self) -> Report:
        """Runs the race, and returns what came of it; for exceptions, see ``run``."""
        winner = self.run()
        judgement = self._default.judgement
        return Report(
            self.job.program.name,
            plan_of(self.job, winner, judgement),
            _conclusion(winner, self.interrupted, judgement) + self._unconfirmed,
            self.job.numerics,
            winner,
            tuple(self.outcomes),
            self._elapsed(),
            before=self.before,
            interrupted=self.interrupted,
            unconfirmed=self._unconfirmed,
            judgement=judgement,
            judging=self._default.times,
        )

    def run(self) -> PlanMeasurement | None:
        """Runs the race.

        Ctrl-C ends the search, and the best plan so far is measured again; another one drops it.

        Where references say that jaxlib's default must not stand, the race is one beside what does.

        Returns:
            The thorough outcome of the winner in a fresh process; None if no plan kept a lead.

        Raises:
            NotExecutableError: jaxlib's default does not compile or run, nor does anything else.
            HloError: The program cannot be measured.
            KeyboardInterrupt: Ctrl-C was pressed a second time.
        """
        self._begun = time.monotonic() - self.spent
        start_workers()
        self._default = DefaultOnTrial(self.job, self.budget)
        if self._default.in_doubt:
            self._default.ask()
        while True:
            try:
                winner = self._run()
            except NotExecutableError as error:
                if not self._default.ask_after(error):
                    raise
            else:
                if self.job.reference == self._default.job.reference:
                    return None if self._default.is_hopeless else self._beside_default(winner)

    def _run(self) -> PlanMeasurement | None:
        """Runs the race beside what stands for the default; ends early if that becomes another."""
        if self.job.reference != self._default.job.reference:
            self.measurements = self.measurements.beside(self._default.job.reference)
        self.job = self._default.job
        self.outcomes.clear()
        self._asked = 0
        self._proposers = Proposers(self.job, self.settings.makers(), self.first)
        self._scored: list[PlanMeasurement] = []  # the outcomes, as the objective compares them
        self._best: PlanMeasurement | None = None
        self._confirmed: list[PlanMeasurement] = []
        self._refused: set[str] = set()
        self._without: frozenset[str] = frozenset()
        self._unconfirmed = ""
        for outcome in () if self.settings.measure_again else self.measurements.known():
            self._take(outcome, new=False)
        self.before = len(self.outcomes)
        self._profiled = any(outcome.hot is not None for outcome in self.outcomes)
        try:
            self._screen()
        except KeyboardInterrupt:
            self.interrupted = True
            self.say("ended by Ctrl-C; the best plan is measured again")
        finally:
            self._proposers.close()
        if self._is_over:
            return None
        try:
            self._final()
        except KeyboardInterrupt:
            if self.interrupted:
                raise
            self.interrupted = True
        winner = winner_of(self._confirmed)
        pairs = zip(self._scored, self.outcomes, strict=False)
        outcome = next((outcome for scored, outcome in pairs if scored is winner), None)
        return None if outcome is None else replace(outcome, checks=self._all_checks(outcome.plan))

    def _all_checks(self, plan: Plan) -> Checks | None:
        """Returns the comparisons of a plan in all fresh processes, which may share the samples."""
        new = self.outcomes[self.before :]
        of_plan = [o for o in new if o.thorough and o.plan.digest == plan.digest]
        return merged([outcome.checks for outcome in of_plan if outcome.checks is not None])

    def _screen(self) -> None:
        """Measures what methods propose, until they have no more or the time is over."""
        with self._measurer(self.workers) as measurer:
            progress = True
            while progress and self._time_left():
                before = len(self.outcomes)
                for outcome in measurer.measure(self._trials()):
                    self._take(outcome)
                if self._default.in_doubt and self._default.ask():
                    return
                progress = len(self.outcomes) > before

    @contextmanager
    def _measurer(self, workers: int) -> Iterator[Measurer]:
        """Yields a measurer that knows, and tells, which samples the default does not survive."""
        with Measurer(self.job, workers=workers, without=self._without) as measurer:
            try:
                yield measurer
            finally:
                self._without = measurer.without

    def _trials(self) -> Iterator[MeasurementRequest]:
        if self._default.judgement is None and self._proposers.is_new(self._default.plain):
            yield MeasurementRequest(self._default.plain)
        if self._asked == 0:  # workers compile the default meanwhile
            self._proposers.wait(min(_MOST_WAIT, _WAIT * self.budget))
        while self._time_left() and not self._default.in_doubt:
            if not (asked := self._proposers.ask()):
                return
            (plan,) = asked
            self._asked += 1
            # Memory is no reason to time a plan briefly.
            by_time = self._best is not None and self.job.objective == "time"
            best = safe_ratio(self._best) if self._best and by_time else 0.0
            yield MeasurementRequest(plan, SCREEN, not self._profiled, best)
            self._profiled = True

    def _final(self) -> None:
        """Measures the best plans again in fresh processes, and notes those that keep their lead.

        A screening on a busy machine favours some plans. So plans that differ are in the final, the
        simplest that leads among them, unless they cannot win any more.
        """
        chosen = self._finalists()
        if not chosen and self._elapsed() + self._final_seconds() < self.budget:
            chosen = self._finalists(doubtful=True)
        if not chosen or self._is_too_long(chosen[0]):
            return
        number = 1 if self.interrupted else CONFIRMATIONS  # after a Ctrl-C one has to do
        with self._measurer(number) as measurer:
            for finalist in chosen:
                best = winner_of(self._confirmed)
                if best is not None and not may_beat(finalist, best):
                    continue
                begun = self._elapsed()
                self._confirm(finalist.plan, measurer, number)
                now = self._elapsed()
                another = now - begun if self._confirmed else 0.0
                if self._is_over or self.interrupted or now + another > self.budget:
                    break

    def _confirm(self, plan: Plan, measurer: Measurer, number: int) -> None:
        """Keeps the slowest of the measurements in fresh processes, if all of them have a lead.

        A single one takes one plan of ten for a faster one, among plans that are none, where noise
        lasts for several pairs. Where a process has its memory lasts as long as the process: a lead
        that this alone may bring has to hold in as many processes again.
        """
        outcomes = self._measured_again(plan, measurer, number)
        is_long = run_seconds(self.outcomes) >= LONG_RUN
        if all(map(leads, outcomes)) and min(map(safe_ratio, outcomes)) < _SURE and not is_long:
            with self._measurer(number) as another:
                outcomes += self._measured_again(plan, another, number)
        if all(map(leads, outcomes)):
            self._confirmed.append(min(outcomes, key=lambda outcome: outcome.ratio))

    def _measured_again(self, plan: Plan, measurer: Measurer, number: int) -> list[PlanMeasurement]:
        """Returns measurements in fresh processes, which compile side by side."""
        without = [frozenset[str]()] * number
        if run_seconds(self.outcomes) >= LONG_RUN:
            given = self.job.given is not None
            without = [others(i, number, is_given=given) for i in range(number)]
        requests = [MeasurementRequest(plan, self._effort, without=names) for names in without]
        measured = list(measurer.measure(requests))
        outcomes = [self._take(outcome) for outcome in measured]
        if self._default.in_doubt:
            self._default.ask()
        return outcomes

    @property
    def _is_over(self) -> bool:
        """True if something else stands for the default now."""
        return self.job.reference != self._default.job.reference

    def _beside_default(self, winner: PlanMeasurement | None) -> PlanMeasurement | None:
        """Returns the outcome of a winner, or of the reference, timed beside jaxlib's default.

        Nothing is timed again if the default is right, or does not live.
        """
        judgement = self._default.judgement
        if self.job.reference.is_empty or judgement is None or judgement.verdict != "differs":
            return winner
        plan = self.job.reference if winner is None else winner.plan
        with self._measurer(1) as measurer:
            request = MeasurementRequest(plan, self._effort, beside_default=True)
            (outcome,) = measurer.measure([request])
        return outcome if outcome.measured is not None else winner

    @property
    def _effort(self) -> Effort:
        """The effort in one process of the final."""
        return replace(FINAL, max_seconds=min(FINAL.max_seconds, _TIMING * self.budget))

    def _finalists(self, doubtful: bool = False) -> Sequence[PlanMeasurement]:
        before, now = self._scored[: self.before], self._scored[self.before :]
        return in_final(finalists(before, now, doubtful), _FINALISTS)

    def _take(self, outcome: PlanMeasurement, new: bool = True) -> PlanMeasurement:
        """Takes note of an outcome, and returns it as the objective compares it."""
        if new:
            outcome = replace(outcome, when=round(self._elapsed(), 3))
        allowed = within_memory(outcome, self.job)
        self.outcomes.append(allowed)  # first, as Ctrl-C may come while the disk is waited for
        self._scored.append(by_objective(allowed, self.job))
        self._default.take(outcome)
        if new:
            self.measurements.add(outcome)
        outcome = self._scored[-1]
        self._proposers.tell([outcome])
        if outcome.thorough and outcome.measured is None and not outcome.accident:
            # Its speed is no standard for others.
            self._refused.add(outcome.plan.digest)
            left = [o for o in self._scored if o.plan.digest not in self._refused]
            self._best = max(left, key=lambda outcome: outcome.ratio, default=outcome)
        elif self._best is None or outcome.ratio > self._best.ratio:
            self._best = outcome
        self.watch(self.outcomes, self._best)
        return outcome

    def _time_left(self) -> bool:
        if self._best is not None and safe_ratio(self._best) >= self.enough:
            return False
        trial = statistics.median([o.seconds for o in self.outcomes if not o.thorough] or [0.0])
        # Without a plan that leads there is no final.
        final = self._final_seconds() if self._finalists() else 0.0
        return self._elapsed() + trial + final < self.budget or self._asked < 1

    def _final_seconds(self) -> float:
        """Returns how much of the budget is kept for the final: what it takes, if that is there."""
        plans = min(_LIKELY, max(len(self._finalists()), 1))
        seconds = final_seconds(self.outcomes, plans, self._effort)
        return min(seconds, _MOST_FINAL * self.budget)

    def _is_too_long(self, finalist: PlanMeasurement) -> bool:
        """Returns True if runs take so long that the budget is far below the final, and says so."""
        run = run_seconds(self.outcomes)
        final = final_seconds(self.outcomes, 1, self._effort)
        seconds = self._elapsed() + final
        repaid = _REPAID * run * (1 - 1 / max(1.0, safe_ratio(finalist)))
        is_allowed = seconds < _OVERTIME * self.budget or final < repaid
        if self.interrupted or run < LONG_RUN or is_allowed:
            return False
        self._unconfirmed = (
            f"; a run takes {run:.1f} s: a budget of {math.ceil(seconds)} s is needed to confirm "
            f"what was {finalist.ratio:.2f} times as fast"
        )
        return True

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun


def plan_of(job: Job, winner: PlanMeasurement | None, judgement: Judgement | None = None) -> Plan:
    """Returns the plan of a winner, with its speed and class.

    Without a winner it is the reference of the job, the empty plan if that is the default.
    """
    program = job.program
    identity: dict[str, Any] = {
        "program": program.name,
        "fingerprint": program.fingerprint,
        "text_fingerprint": program.text_fingerprint,
    }
    if judgement is not None and judgement.is_against_default:
        identity["default_fault"] = judgement.reason
    if winner is None or winner.measured is None or winner.checks is None:
        return replace(job.reference, **identity)
    numerics: Numerics = job.numerics
    if winner.checks.verdict == "equal" and not allows_fast_math(winner.plan.flags):
        numerics = "exact"
    plan = replace(winner.plan, **identity, numerics=numerics)
    return plan.measured_at(winner.measured)


def _conclusion(
    winner: PlanMeasurement | None, interrupted: bool, judgement: Judgement | None
) -> str:
    ended = ", ended by the user" if interrupted else ""
    if judgement is not None and judgement.is_against_default:
        ended += f"; {judgement.headline}"
    if not has_engine():
        ended += "; without the engine, no rules were tried: pip install 'hlograph[engine]'"
    if winner is None or winner.measured is None:
        if judgement is not None and judgement.is_against_default and judgement.plan is not None:
            return f"runs by a plan in place of jaxlib's default{ended}"
        return f"no plan kept a lead over jaxlib's default{ended}"
    return f"{winner.measured}{ended}"
