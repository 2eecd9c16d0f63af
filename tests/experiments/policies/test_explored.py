import json
from typing import Any

import numpy as np
import pytest

from experiments.policies.explored import ExploredPolicy
from hlograph import HloError, Module, UnknownNameError, passes
from hlograph.explorer.player import PlayablePolicy, load_player
from hlograph.explorer.policies import PolicySession
from tests.tiny_module import TINY


@pytest.fixture(scope="module")
def ordering() -> PlayablePolicy:
    return load_player("gnn")


@pytest.fixture
def program() -> Module:
    return Module.from_text(TINY)


def test_moves_have_what_the_policy_saw_and_did(ordering: PlayablePolicy, program: Module) -> None:
    moves = list(ordering.play(program, (), 50))

    assert moves[-1].ending == "stop"
    assert not any(move.ending for move in moves[:-1])
    for move in moves:
        assert [choice.name for choice in move.choices.values()] == [*passes.names, "stop"]
        assert move.probabilities.sum() == pytest.approx(1, abs=1e-5)
        assert not move.probabilities[~move.allowed].any()
        assert move.action == move.preferred
        assert move.allowed[move.action]
        assert move.attention is not None
        assert move.step.name == move.choices[move.action].name
    assert moves[0].attention is not None
    assert len(moves[0].attention.nodes) == program.graph().num_nodes
    replayed = program.clone()
    for move in moves[:-1]:
        replayed.run(move.step.name)
    assert replayed.fingerprint() == moves[-1].step.module.fingerprint()
    assert program.op_count == 8


def test_an_episode_begins_with_other_actions(ordering: PlayablePolicy, program: Module) -> None:
    preferred = next(ordering.play(program, (), 1)).preferred
    names = [name for name in ("dce", "cse", "algsimp") if passes[name].index != preferred][:2]
    first = [passes[name].index for name in names]

    moves = list(ordering.play(program, first, 50))

    assert [move.step.name for move in moves[:2]] == names
    assert moves[0].preferred == preferred
    assert all(move.action == move.preferred for move in moves[2:])


def test_masked_and_unknown_actions_are_refused(ordering: PlayablePolicy, program: Module) -> None:
    masked = int(np.flatnonzero(~next(ordering.play(program, (), 1)).allowed)[0])

    for action in (masked, 10_000, -1):
        with pytest.raises(HloError, match="allowed in step 1"):
            next(ordering.play(program, [action], 5))


def test_rewrites_are_tied_to_the_instructions_that_they_touch(program: Module) -> None:
    player = load_player("rewrites")

    move = next(player.play(program, (), 1))

    offered = {choice.name: choice for choice in move.choices.values()}
    assert offered["merge(b, a)"].touched["other"] == ("a",)
    assert offered["merge(b, a)"].facts["instructions"] == -1
    assert "stop" in offered
    assert len(offered) == move.allowed.sum()


def test_a_policy_without_a_graph_has_no_attention(program: Module) -> None:
    assert next(load_player("op-counts").play(program, (), 1)).attention is None


def test_unknown_policies_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="gnn"):
        load_player("gmn")


def test_a_session_has_the_data_of_the_page(ordering: PlayablePolicy, program: Module) -> None:
    files: dict[str, Any] = {}
    session = PolicySession(ordering, program, files)

    page = session.page()

    assert page["start_op_count"] == 8
    episode = files[page["episode"]]
    assert episode["ending"] == "stop"
    for move in episode["moves"]:
        assert len(move["actions"]) == len(move["names"]) == len(move["probabilities"])
        assert move["actions"][move["actions"].index(move["action"])] == move["preferred"]
        state = files[move["state"]]
        assert set(state["attended"]) <= set(range(len(state["nodes"])))
        assert all(0 < node["attention"] <= 1 for node in state["nodes"])
        if move["step"]["changed"]:
            assert files[move["step"]["file"]]["regions"]
    assert json.loads(json.dumps(files)) == files


def test_a_session_plays_on_after_another_action(ordering: PlayablePolicy, program: Module) -> None:
    files: dict[str, Any] = {}
    session = PolicySession(ordering, program, files)
    own = session.page()["episode"]

    answer = session.what_if({"actions": [passes["dce"].index]})

    assert answer["episode"] != own
    episode = files[answer["episode"]]
    assert episode["first"] == [passes["dce"].index]
    assert episode["moves"][0]["step"]["name"] == "dce"
    assert session.what_if({"actions": [passes["dce"].index]}) == answer
    assert session.what_if({"actions": []}) == {"episode": own}


@pytest.mark.parametrize("question", [None, {}, {"actions": 3}, {"actions": ["dce"]}])
def test_a_session_refuses_other_questions(
    ordering: PlayablePolicy, program: Module, question: object
) -> None:
    with pytest.raises(HloError, match="actions"):
        PolicySession(ordering, program, {}).what_if(question)


def test_candidates_are_in_the_file_of_their_state(program: Module) -> None:
    files: dict[str, Any] = {}
    session = PolicySession(load_player("rewrites"), program, files)

    episode = files[session.page()["episode"]]

    move = episode["moves"][0]
    state = files[move["state"]]
    number = move["actions"][move["names"].index("merge(b, a)")]
    touched = state["touched"][str(number)]
    assert [state["nodes"][node]["name"] for node in touched["other"]] == ["a"]


def test_the_player_is_that_of_the_protocol(ordering: PlayablePolicy) -> None:
    assert isinstance(ordering, ExploredPolicy)
    assert ordering.label == "GNN"
    assert "trained on" in ordering.about
