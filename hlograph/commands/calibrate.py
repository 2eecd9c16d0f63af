"""``hlograph calibrate``: measures the rates that run times are predicted with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tqdm import tqdm

from hlograph.commands.command import Answer, Command
from hlograph.commands.text_tables import table
from hlograph.errors import HloError

if TYPE_CHECKING:
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
