"""``hlograph apply``: carries a plan out on a program, checks it, and measures it again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from hlograph.commands.command import Answer, Flag, OptionalFile
from hlograph.commands.sources import (
    STABLEHLO,
    SourceCommand,
    SourceName,
    check_suffix,
    stablehlo_text,
    write_module,
)
from hlograph.commands.text_tables import duration
from hlograph.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    from hlograph.measuring.trial import Job, PlanMeasurement
    from hlograph.plans import Plan


@dataclass(frozen=True, kw_only=True)
class Apply(SourceCommand):
    """Carries a plan out on a program in the installed jaxlib, and compares the outputs.

    A plan for another program or machine, and one whose outputs differ from those of the default,
    is refused.
    """

    plan: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAN")]
    """Path or URL of the plan."""
    source: SourceName
    """package.module:function, or a file with HLO or StableHLO."""
    measure: Flag = False
    """Measure the plan beside the default, also one that was made on another machine."""
    out: OptionalFile = None
    """File to write the program to after the plan's steps and layouts: *.mlir (StableHLO), *.hlo
    (HLO text) or *.pb. The plan's flags and placements take effect later, inside of XLA."""

    def run(self) -> Answer:
        """Carries the plan out; see the class."""
        from hlograph.measuring.service import COMPARISON, try_plan
        from hlograph.measuring.trial import FINAL
        from hlograph.optimization.leading import leads
        from hlograph.plans import Plan, PlanError

        check_suffix(self.out)
        plan = Plan.load(self.plan)
        job = self.job_of(self.source, plan.numerics)
        self._check(plan, job)
        outcome = try_plan(job, plan, FINAL if self.measure else COMPARISON)
        if outcome.error or outcome.checks is None:
            raise PlanError(f"this plan is refused: {outcome.error}")
        if self.out is not None:
            _write(job, plan, self.out)
        holds = leads(outcome) if self.measure else None
        return Answer(self._text(job, plan, outcome, holds), self._content(plan, outcome, holds))

    def _check(self, plan: Plan, job: Job) -> None:
        from hlograph.plans import PlanRefusedError

        plan.check(job.program, here=False)
        try:
            plan.check(job.program, here=not self.measure)
        except PlanRefusedError as error:
            # The message names the option of the function.
            words = str(error).replace("measure_again=True", "--measure")
            raise PlanRefusedError(words) from error

    def _text(self, job: Job, plan: Plan, outcome: PlanMeasurement, holds: bool | None) -> str:
        assert outcome.checks is not None
        words = {
            None: "the plan is carried out",
            True: "the plan holds",
            False: "the plan does not pay here",
        }[holds]
        lines = [f"{job.program.name}: {words}", *(f"  {line}" for line in plan.describe())]
        lines += [
            f"  outputs  {outcome.checks.verdict}: {outcome.checks.reason}",
            f"  compared on {', '.join(outcome.checks.samples)} inputs",
        ]
        if self.measure and (measured := outcome.measured):
            lines += [
                f"  default  {duration(measured.default_seconds):>8}",
                f"  plan     {duration(measured.seconds):>8}   {measured}",
            ]
        if self.out is not None:
            lines.append(f"  written to {self.out}")
        return "\n".join(lines)

    def _content(self, plan: Plan, outcome: PlanMeasurement, holds: bool | None) -> dict[str, Any]:
        assert outcome.checks is not None
        return {
            "plan": plan.describe(),
            "checks": asdict(outcome.checks),
            "measured": asdict(outcome.measured) if self.measure and outcome.measured else None,
            "holds": holds,
            "out": str(self.out) if self.out else None,
        }


def _write(job: Job, plan: Plan, path: Path) -> None:
    from hlograph.module import Module
    from hlograph.plans.transforming import transformed

    bytecode = transformed(job.program, plan)
    if path.suffix in STABLEHLO:
        write_text_atomically(path, stablehlo_text(bytecode))
    else:
        write_module(Module.read(bytecode), path)
