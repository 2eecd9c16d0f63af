"""Searches in the background: the program goes on, and takes what they find.

The search has a process of its own, which measures and stores as any other search does. A thread
of the program waits for its reports and compiles their plans. What goes wrong in either is noted in
the function, and never reaches a call of it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hlograph.errors import HloError
from hlograph.isolation import SideProcess
from hlograph.measuring.trial import Job
from hlograph.optimization.cache import CacheKey, plans_of_earlier_version
from hlograph.optimization.function import CompilePlan, OptimizedFunction
from hlograph.optimization.judging import judged_before, warn_once
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.methods import check_importable
from hlograph.optimization.optimizing import (
    check_numerics,
    optimize_program,
    stored_plan,
    unmeasured,
)
from hlograph.optimization.race import Race
from hlograph.optimization.report import Report
from hlograph.optimization.search_settings import SearchSettings
from hlograph.plans import Plan, PlanError

Stage = Callable[[float], Iterator[Report]]
"""Function that yields the reports of a stage of a search, of the seconds that others have taken.
"""


class _Turns:
    """A lock that is given in the order in which threads ask for it."""

    def __init__(self) -> None:
        self._threads = deque[int]()
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        thread = threading.get_ident()
        with self._changed:
            self._threads.append(thread)
            self._changed.wait_for(lambda: self._threads[0] == thread)

    def __exit__(self, *exception: object) -> None:
        with self._changed:
            self._threads.popleft()
            self._changed.notify_all()


# Searches of one program take turns: each has several processes, and they would wait for each other
# to measure. The first stages have a turn of their own, so that none of them waits for a whole
# search, which takes ten times as long.
_TURNS = (_Turns(), _Turns())
"""Turns of first stages and of last ones."""

_UNTIL = "jaxlib's default, until a search in the background has found a plan"
_LEAST_BUDGET = 0.1  # seconds; a search measures one plan in any case
# Share of the budget that the first stage takes at most, and the seconds below which there is none.
_FIRST, _LEAST_FIRST = 0.25, 5.0
_ENOUGH = 1.2  # ratio of a plan that is confirmed at once
_RECIPES = "recipes"

_RUNNING: set[BackgroundSearch] = set()


def in_background(
    jit: Callable[..., Any] | None,
    compile_plan: CompilePlan,
    job: Job,
    settings: SearchSettings,
    *,
    is_checked: bool = False,
) -> OptimizedFunction:
    """Returns a function at once, and searches for its plan in the background.

    Args:
        jit: See ``OptimizedFunction``.
        compile_plan: Compiles the function by a plan; None is that of ``jax.jit``.
        job: The program and the conditions.
        settings: Settings of the search.
        is_checked: True has references judge jaxlib's default before the function may run by it,
            which takes seconds. Programs that may meet a known fault are judged in any case.
    """
    check_numerics(job.numerics)
    check_importable(settings.methods)
    stored = stored_plan(job, settings.store).plan
    begin = Report(job.program.name, Plan(), _UNTIL, job.numerics)
    if stored is None:
        begin = judged_before(job, begin, is_checked=is_checked)
        warn_once(begin)
    function = OptimizedFunction(jit, compile_plan(begin.plan), begin, settings.process)
    if stored is not None:
        try:
            function.become(unmeasured(job, stored), compile_plan)
            warn_once(function.report)
        except PlanError:  # it must not stand in the way
            stored, settings = None, replace(settings, measure_again=True)
    if stored is None or settings.measure_again or settings.search_further:
        settings = replace(settings, progress=False)
        begins = stored is None and _has_first_stage(job, settings)
        stages = (first_stage, whole_search) if begins else (whole_search,)
        search = BackgroundSearch([partial(each, job, settings) for each in stages], compile_plan)
        search.start(function)
    return function


def _has_first_stage(job: Job, settings: SearchSettings) -> bool:
    """Returns True if there is something to try in ``first_stage``, and time for it."""
    if _FIRST * settings.budget < _LEAST_FIRST:
        return False
    is_known = Measurements(CacheKey.of(job)).path.exists()
    return is_known or _has_recipes(settings) or settings.store.get_recipe(job) is not None


def _has_recipes(settings: SearchSettings) -> bool:
    """Returns True if the recipes of the package are among the methods."""
    return settings.methods is None or _RECIPES in settings.methods


def first_stage(job: Job, settings: SearchSettings, spent: float) -> Iterator[Report]:
    """Yields the report of a short search, among what is known of the program and of others.

    It tries what was measured before, the recipe of an earlier version, and the recipes of the
    package. Its plan is not stored, because it is not a complete search.

    Args:
        job: The program and the conditions.
        settings: Settings of the whole search.
        spent: Seconds that other stages have taken.
    """
    del spent
    methods = (_RECIPES,) if _has_recipes(settings) else ()
    few = replace(settings, methods=methods, budget=_FIRST * settings.budget)
    known = Measurements(CacheKey.of(job), given=job.given)
    earlier = plans_of_earlier_version(settings.store, job)
    report = Race(job, few, known, first=earlier, enough=_ENOUGH).search()
    yield replace(report, conclusion=f"{report.conclusion}, while the search goes on")


def whole_search(job: Job, settings: SearchSettings, spent: float) -> Iterator[Report]:
    """Yields the report of a search, in what is left of its budget; see ``first_stage``."""
    left = max(settings.budget - spent, _LEAST_BUDGET)
    yield optimize_program(job, replace(settings, budget=left))


def _stage(stages: bytes, number: int, spent: float) -> Iterator[Report]:
    """Yields the reports of a stage, in its process."""
    return pickle.loads(stages)[number](spent)


class BackgroundSearch:
    """A search in processes of its own, for one function.

    Args:
        stages: Functions that yield reports, each in a process and a turn of its own, the last one
            at the end of the search; can be pickled.
        compile_plan: Compiles the function by a plan; see ``OptimizedFunction.become``.
    """

    def __init__(self, stages: Sequence[Stage], compile_plan: CompilePlan) -> None:
        # At once, because the program may change the arguments of the function later.
        self._stages, self._number = pickle.dumps(stages, protocol=5), len(stages)
        self._compile_plan = compile_plan
        self._process: SideProcess | None = None
        self._closed, self._owner = False, os.getpid()
        self._ended = threading.Event()  # a thread whose `join` met a Ctrl-C is lost to Python 3.11

    def start(self, function: OptimizedFunction) -> None:
        """Starts the search, when it is its turn; the function takes what it finds."""
        function.follow(self.wait, self.close)
        # The program may drop the function meanwhile, which ends the search.
        self._function = weakref.ref(function)
        _RUNNING.add(self)
        # Before the exit function of jax, which takes its compiler away.
        atexit.unregister(_end_all)
        atexit.register(_end_all)
        threading.Thread(target=self._run, name="hlograph.optimize", daemon=True).start()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the search has ended; returns False if it has not after a timeout."""
        return self._ended.wait(timeout)

    def close(self) -> None:
        """Ends the search."""
        if self._owner != os.getpid():  # in a fork of the program, whose search goes on
            return
        # No lock: the garbage collector may call this in any thread, at any time. `_search` reads
        # these two the other way round.
        self._closed = True
        process = self._process
        if process is None:
            self._ended.set()  # not at the end of the turns before its own
        else:
            process.kill()

    def _run(self) -> None:
        try:
            spent = 0.0
            for number in range(self._number):
                is_last = number == self._number - 1
                with _TURNS[is_last]:
                    spent += self._search(number, spent)
        except Exception as error:  # whatever it is, it must not be lost in this thread
            self._fail(error if isinstance(error, HloError) else HloError(repr(error)))
        finally:
            del self._compile_plan  # and the lowered program with its constants
            self._stages = b""
            _RUNNING.discard(self)
            self._ended.set()

    def _search(self, number: int, spent: float) -> float:
        """Has a stage in a process, and returns the seconds that it took."""
        if self._closed:
            return 0.0
        stage = partial(_stage, self._stages, number, spent)
        self._process = SideProcess(pickle.dumps(stage, protocol=5))
        if self._closed:
            self._process.kill()
        seconds = 0.0
        with contextlib.closing(self._process.answers()) as reports:
            for report in reports:
                seconds += report.seconds
                self._take(report)
        self._process = None
        return seconds

    def _take(self, report: Report) -> None:
        function = self._function()
        if function is not None and not self._closed:
            warn_once(report, function.report)
            function.become(report, self._compile_plan)

    def _fail(self, error: HloError) -> None:
        function = self._function()
        if self._closed or function is None:
            return
        with contextlib.suppress(UserWarning):  # raised where warnings are errors
            function.fail(error)


def _end_all() -> None:
    """Ends all searches, and waits for compilations: a thread must not be in one at the exit."""
    running = list(_RUNNING)
    for search in running:
        search.close()
    for search in running:
        search.wait()


def _forget_searches() -> None:
    """Ends the copies of searches in a fork, where no thread goes on with them."""
    global _TURNS
    _TURNS = (_Turns(), _Turns())
    for search in _RUNNING:
        search._ended = threading.Event()
        search._ended.set()
    _RUNNING.clear()


os.register_at_fork(after_in_child=_forget_searches)
