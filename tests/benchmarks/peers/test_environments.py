"""Virtual environments of peers."""

import sys

import pytest

from benchmarks.peers.environments import LOCK, PeerEnvironment, PeerUnavailableError


def test_a_peer_without_requirements_has_this_interpreter(tmp_path):
    environment = PeerEnvironment("jax")
    assert environment.python(tmp_path) == sys.executable
    assert environment.lock(tmp_path) == ""


@pytest.mark.slow
def test_an_environment_is_made_once_and_locked(tmp_path):
    environment = PeerEnvironment("some", ("six==1.17.0",))
    python = environment.python(tmp_path)
    assert environment.lock(tmp_path) == "six==1.17.0\n"
    (tmp_path / "some" / "mark").touch()
    assert environment.python(tmp_path) == python
    assert (tmp_path / "some" / "mark").exists()
    other = PeerEnvironment("some", ("six==1.16.0",))
    other.python(tmp_path)
    assert other.lock(tmp_path) == "six==1.16.0\n"
    assert not (tmp_path / "some" / "mark").exists()


@pytest.mark.slow
def test_packages_that_are_not_there_are_named(tmp_path):
    environment = PeerEnvironment("missing", (str(tmp_path / "missing.whl"),))
    with pytest.raises(PeerUnavailableError, match=r"no environment for missing: .*missing\.whl"):
        environment.python(tmp_path)
    assert not (tmp_path / "missing" / LOCK).exists()
