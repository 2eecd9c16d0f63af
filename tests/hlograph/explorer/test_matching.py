from hlograph import Module, pipelines
from hlograph.explorer.matching import NONE, Instructions, match
from tests.tiny_module import COUNTED_LOOP, TINY


def states(before: str | Module, after: str | Module) -> tuple[Instructions, Instructions]:
    modules = [Module.from_text(one) if isinstance(one, str) else one for one in (before, after)]
    return Instructions.of(modules[0]), Instructions.of(modules[1])


def named(state: Instructions, numbers: object) -> set[str]:
    return {state.names[number] for number in numbers}  # pyright: ignore[reportGeneralTypeIssues]


def test_instructions_are_those_of_the_module() -> None:
    state = Instructions.of(Module.from_text(TINY))

    number = state.names.index("sum")
    assert len(state) == 8
    assert str(state.texts[number]) == "sum = f32[4]{0} add(a, b)"
    assert [state.names[one] for one in state.operands_of(number)] == ["a", "b"]
    assert [state.names[one] for one in state.users_of(number)] == ["doubled"]
    assert state.parts(number) == ("f32[4]{0}", "", "")
    assert state.is_root(state.names.index("doubled"))


def test_a_module_matches_itself() -> None:
    found = match(*states(TINY, TINY))

    assert found.after == list(range(8)) == found.before
    assert not found.changed
    assert not found.renamed


def test_a_merged_instruction_is_removed_and_its_user_changed() -> None:
    module = Module.from_text(TINY)
    after = module.clone()
    after.run("cse")
    first, second = states(module, after)

    found = match(first, second)

    assert named(first, found.removed) == {"b"}
    assert found.added == []
    assert named(second, found.changed) == {"sum"}


def test_other_names_are_no_change() -> None:
    renamed = TINY.replace("sum", "total").replace("exponential(p)", "exponential(arg)")
    renamed = renamed.replace("  p = ", "  arg = ").replace("multiply(p, p)", "multiply(arg, arg)")
    first, second = states(TINY, renamed)

    found = match(first, second)

    assert not found.changed
    assert found.added == found.removed == []
    assert named(second, found.renamed) == {"arg", "total"}


def test_an_instruction_of_another_opcode_is_another_one() -> None:
    first, second = states(TINY, TINY.replace("add(a, b)", "multiply(a, b)"))

    found = match(first, second)

    assert named(first, found.removed) == {"sum"} == named(second, found.added)
    assert named(second, found.changed) == {"doubled"}


def test_swapped_operands_are_a_change() -> None:
    first, second = states(TINY, TINY.replace("add(a, b)", "add(b, a)"))

    assert named(second, match(first, second).changed) == {"sum"}


def test_an_attribute_is_a_change() -> None:
    module = Module.from_text(COUNTED_LOOP)
    after = module.clone()
    after.run("while-loop-trip-count-annotator")
    first, second = states(module, after)

    found = match(first, second)

    assert named(second, found.changed) == {"w"}
    assert found.added == found.removed == []


def test_pairs_are_one_to_one_on_a_large_change(corpus_module: Module) -> None:
    after = corpus_module.clone()
    after.run(pipelines["xla-simplify"])
    first, second = states(corpus_module, after)

    found = match(first, second)

    pairs = [(mine, theirs) for mine, theirs in enumerate(found.after) if theirs != NONE]
    assert pairs
    assert all(found.before[theirs] == mine for mine, theirs in pairs)
    assert all(first.opcodes[mine] == second.opcodes[theirs] for mine, theirs in pairs)
    assert len(second) - len(first) == len(found.added) - len(found.removed)
