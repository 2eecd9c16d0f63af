"""The page of a policy: the episode that it plays on a program, and episodes on request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hlograph.explorer.module_data import Numbers
from hlograph.explorer.pages import Page, Query
from hlograph.explorer.player import load_player
from hlograph.explorer.policy_session import PolicySession
from hlograph.module import Module

WHAT_IF = "what-if"
"""Name of the query that plays on after other actions."""


class PolicyPages(NamedTuple):
    """Holds what a policy adds to a site.

    Attributes:
        page: Its page.
        queries: What the page asks of a server.
        numbers: Numbers to colour the program's graph by: where the policy looks at the start.
    """

    page: Page
    queries: Mapping[str, Query]
    numbers: tuple[Numbers, ...]


def policy_page(program: Module, policy: str, files: dict[str, Any]) -> PolicyPages:
    """Plays a policy on a program, and returns what to show of it.

    Args:
        program: The program.
        policy: Name of a policy that comes with the project, or path or URL of a checkpoint.
        files: Receives the data files of the page, now and with each episode that is asked for.

    Raises:
        HloError: There is no such policy, or it cannot play the program.
    """
    player = load_player(policy)
    session = PolicySession(player, program, files)
    page = Page("policy", "policy", "Policy", session.page() | {"name": policy})
    numbers = ()
    count = program.op_count
    same = player.start(program).fingerprint() == program.fingerprint()
    if session.attention is not None and same:
        values = 100 * session.attention.nodes[:count]
        numbers = (Numbers("attention", "attention of the policy", "%", values),)
    return PolicyPages(page, {WHAT_IF: session.what_if}, numbers)
