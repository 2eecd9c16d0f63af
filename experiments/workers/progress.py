"""Progress bars of the phases of a program."""

from tqdm import tqdm


def phase_bar(description: str | None, total: int, unit: str = "task") -> tqdm:
    """Returns the progress bar of one phase of a program, which is shown if it takes a second.

    Args:
        description: Name of the phase; None shows no bar.
        total: Number of units.
        unit: Name of a unit.
    """
    return tqdm(
        desc=description,
        total=total,
        unit=unit,
        delay=1.0,
        leave=None,  # one inside another goes when it is done
        dynamic_ncols=True,
        disable=description is None,
    )
