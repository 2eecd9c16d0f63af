"""``hlograph profile`` and ``hlograph calibrate``: measure programs in the installed jaxlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro
from tqdm import tqdm

from hlograph.commands.command import Answer, Command, Flag
from hlograph.commands.sources import SourceCommand, SourceName
from hlograph.commands.text_tables import table
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph.measuring.trial import Job
    from hlograph.profiling import Profile
    from hlograph.profiling.calibrating import CalibrationSample


@dataclass(frozen=True, kw_only=True)
class Calibrate(Command):
    """Measures what work costs on this machine, so that predicted run times fit it.

    This takes a few minutes, in which the machine should do nothing else. The rates are stored in
    the cache folder, for this machine and jaxlib.
    """

    def run(self) -> Answer:
        """Measures and stores the rates; see the class."""
        from hlograph.execution.rates import store_rates
        from hlograph.profiling.calibrating import calibrate, errors_by_kind

        with tqdm(unit="program", disable=None) as bar:

            def advance(point: CalibrationSample) -> None:
                bar.set_postfix_str(point.name)
                bar.update()

            try:
                rates, points = calibrate(progress=advance)
            except ImportError as error:
                raise HloError(f"jaxlib is needed: {error}") from error
        path = store_rates(rates)
        errors = errors_by_kind(rates, points)
        rows = [(kind, f"{factor:.2f}") for kind, factor in errors.items()]
        text = table([("kind", "off by a factor of"), *rows], right=(1,))
        content = {"file": str(path), "errors": errors} | rates.to_json()
        return Answer(f"{rates.machine}\n{text}\nwritten to {path}", content)


@dataclass(frozen=True, kw_only=True)
class ProfileProgram(SourceCommand):
    """Shows where a program spends its time in the installed jaxlib, kernel by kernel."""

    source: SourceName
    """package.module:function, or a file with HLO or StableHLO."""
    plan: Annotated[str | None, tyro.conf.arg(metavar="PLAN", help_behavior_hint="")] = None
    """Path or URL of a plan to compile the program with."""
    limit: int = 20
    """Largest number of kernels to show; JSON has all of them."""
    peaks: Flag = False
    """Compare with the peak speeds of this machine, which takes seconds for the first time."""

    def run(self) -> Answer:
        """Profiles the program; see the class."""
        from hlograph.profiling import measured_peaks

        job = self.job_of(self.source, "close")
        profile = _profile(job, self.plan)
        peaks = measured_peaks() if self.peaks else None
        content = profile.to_json() | {"peaks": peaks.to_json() if peaks else None}
        return Answer(profile.table(self.limit, peaks), content)


def _profile(job: Job, plan: str | None) -> Profile:
    from hlograph.measuring.samples import Samples
    from hlograph.plans import Plan
    from hlograph.profiling import profile_program

    loaded = None if plan is None else Plan.load(plan)
    if loaded is not None:
        loaded.check(job.program, here=False)
    inputs = Samples(job.program, job.given, job.seed).usual[0].inputs
    return profile_program(job.program, inputs, plan=loaded)
