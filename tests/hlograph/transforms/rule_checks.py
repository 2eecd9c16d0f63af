"""The check of a rule of hlograph's own on one program."""

from collections.abc import Collection

import hlograph


def check_rule(rule: str, text: str, allowed: Collection[str]) -> None:
    """Asserts that a rule is listed for a program, and that each of its rewrites is right.

    Args:
        rule: Name of the rule.
        text: HLO text of the program.
        allowed: Verdicts that the comparison with the original may have.
    """
    module = hlograph.Module.from_text(text)
    module.verify()
    found = module.rewrites([rule])
    assert found, text
    for rewrite in found:
        rewritten = module.clone()
        rewritten.apply(rewrite)
        rewritten.verify()
        assert rewritten.op_count - module.op_count == rewrite.op_count
        verdict = rewritten.equivalent_to(module, samples=1).verdict
        assert verdict in allowed, text
