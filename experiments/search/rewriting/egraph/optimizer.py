"""Optimizes a module by equality saturation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from experiments.search.rewriting.egraph.extraction import Extraction, extract, order
from experiments.search.rewriting.egraph.forms import FormFinder, FormLimits
from experiments.search.rewriting.egraph.prices import Prices, instruction_of
from experiments.search.rewriting.egraph.program import ProgramText, parse, rewritten
from experiments.search.rewriting.egraph.saturation import EGraph, SaturationLimits, saturated
from experiments.search.rewriting.egraph.terms import Terms
from experiments.search.rewriting.space import Objective
from hlograph.module import Module
from hlograph.transforms.rules import rules
from hlograph.transforms.sweeping import PREPARATION


@dataclass(frozen=True)
class EqualitySettings:
    """Limits of saturation and extraction."""

    saturation: SaturationLimits = field(default_factory=SaturationLimits)
    extraction_seconds: float = 20.0
    forms: tuple[str, ...] | None = None
    """Names of rules that are applied outside of the e-graph, which holds their results. None:
    ``hlograph.rules.for_time`` if seconds are minimized, and none otherwise."""
    form_limits: FormLimits = field(default_factory=FormLimits)
    form_rounds: int = 2
    """Largest number of times that forms are looked for: of the program, then of the result."""

    def forms_for(self, objective: Objective) -> tuple[str, ...]:
        """Returns the names of the rules that are applied outside of the e-graph."""
        if self.forms is not None:
            return self.forms
        return tuple(rule.name for rule in rules.for_time) if objective == "seconds" else ()


@dataclass(frozen=True)
class Optimized:
    """Result of the optimization of a module.

    Attributes:
        module: The cheapest program found.
        rounds: Rounds of rules.
        saturated: True if the last round found nothing new.
        optimal: True if the e-graph is known to hold no cheaper program.
    """

    module: Module
    rounds: int
    saturated: bool
    optimal: bool


def optimize(
    module: Module, objective: Objective, settings: EqualitySettings | None = None
) -> Optimized:
    """Returns the cheapest program that the rules find equal to a module's entry computation.

    Other computations are kept as they are, unless nothing calls them any more, or a rule outside
    of the e-graph (``EqualitySettings.forms``) changes them. Calls are inlined before such rules.
    With ``"seconds"``, a result that is predicted to be slower is replaced by the module itself.

    Args:
        module: The module; it is not changed.
        objective: Quantity to minimize, summed over the entry computation's instructions.
        settings: Limits.

    Raises:
        HloError: egglog is not installed, or the module's text cannot be parsed.
    """
    settings = settings or EqualitySettings()
    forms = settings.forms_for(objective)
    if forms:
        module = _prepared(module)
    program = parse(module.to_text())
    terms = Terms.of(program)
    optimized = _cheapest(program, terms, objective, settings, module if forms else None)
    for _ in range(1, settings.form_rounds if forms else 1):
        terms.add(terms.computations.add(parse(optimized.module.to_text())))
        last, optimized = (
            optimized,
            _cheapest(program, terms, objective, settings, optimized.module),
        )
        if optimized.module.fingerprint() == last.module.fingerprint():
            break
    if objective == "seconds" and optimized.module.seconds() > module.seconds():
        return replace(optimized, module=module.clone())
    return optimized


def _cheapest(
    program: ProgramText,
    terms: Terms,
    objective: Objective,
    settings: EqualitySettings,
    of_forms: Module | None,
) -> Optimized:
    """Adds the forms of a module, if there is one, and returns the cheapest program."""
    if of_forms is not None:
        FormFinder(terms, settings.forms_for(objective), settings.form_limits).add_forms_of(
            of_forms
        )
    graph = saturated(terms, settings.saturation)
    extraction = extract(graph, Prices(terms, graph, objective).all(), settings.extraction_seconds)
    result = Module.from_text(text_of(program, terms, graph, extraction))
    result.run("dce")
    return Optimized(result, graph.rounds, graph.saturated, extraction.optimal)


def _prepared(module: Module) -> Module:
    """Returns a copy of a module for rules for time, whose patterns do not reach into calls."""
    module = module.clone()
    for name in PREPARATION:
        module.run(name)
    return module


def text_of(program: ProgramText, terms: Terms, graph: EGraph, extraction: Extraction) -> str:
    """Returns the module's text with an extracted program as its entry computation."""
    lines = [
        rewritten(parameter, f"p.{parameter.argument}", ())
        for parameter in program.instructions
        if parameter.opcode == "parameter"
    ]
    names: dict[str, str] = {}
    attributes: list[str] = []
    for name in order(graph, extraction.chosen):
        instruction, children = instruction_of(terms, graph, name, extraction.chosen[name])
        if instruction.opcode == "parameter":
            names[name] = f"p.{instruction.argument}"
            continue
        names[name] = f"v.{len(names)}"
        lines.append(rewritten(instruction, names[name], [names[child] for child in children]))
        if instruction.calls:
            attributes.append(instruction.tail)
    return program.with_entry(lines, names[graph.root], terms.computations.text(attributes))
