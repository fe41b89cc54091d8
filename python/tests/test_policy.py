"""Several agents at once, and policies as components."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

import ndnweir
import ndnweir.gym
from ndnweir.pettingzoo import parallel_env
from ndnweir.policy import Policy, scheme
from networks import ONE

SHORT = {"run.duration": "6s"}


def small(seed: int = 1) -> Policy:
    """A network of two layers that grows without a queue and shrinks with one."""
    random = numpy.random.default_rng(seed)
    first = random.normal(0, 0.3, (3, 8))
    first[0, 3] = -3.0
    return Policy([(first, [3.2, 0.1, -0.1]), ([[1.5, 0.1, 0.1]], [0.4])])


def test_pettingzoos_own_checks_pass() -> None:
    env = parallel_env("dumbbell", set={"run.duration": "4s"})
    parallel_api_test(env, num_cycles=100)
    env.close()
    parallel_seed_test(lambda: parallel_env("dumbbell", set={"run.duration": "2s"}), num_cycles=10)


def test_all_consumers_act_at_the_same_time_and_results_come_at_the_end() -> None:
    env = parallel_env("dumbbell", set=SHORT, reward=lambda step: step.time)
    env.reset(seed=1)
    times, infos = 0.0, {}
    while env.agents:
        agents = [*env.agents]
        _, rewards, terminations, truncations, infos = env.step({agent: [0.08] for agent in agents})
        assert len(set(rewards.values())) == 1 and set(rewards) == {"consumer_0", "consumer_1"}
        assert not any(terminations.values()) and len(set(truncations.values())) == 1
        times += rewards["consumer_0"]
    assert 5.0 < times < 6.0
    assert infos["consumer_0"]["results"].runs.to_pydict()["goodput_mbps"][0] > 2


def test_a_shared_reward_is_the_mean_of_all() -> None:
    def rewards(shared: float) -> list[float]:
        env = parallel_env("dumbbell", set=SHORT, shared=shared, reward=lambda step: float(step.data))
        env.reset(seed=1)
        for _ in range(9):
            env.step({"consumer_0": [1.0], "consumer_1": [0.0]})
        found = env.step({"consumer_0": [0.0], "consumer_1": [0.0]})[1]
        env.close()
        return [*found.values()]

    first, second = rewards(0.0)
    assert first > 2 * second
    assert rewards(1.0) == [(first + second) / 2] * 2


def test_one_consumer_of_the_multi_agent_environment_is_that_of_the_other() -> None:
    single = gymnasium.make("ndnweir/Consumer-v0", scenario=ONE)
    several = parallel_env(ONE)
    one, _ = single.reset(seed=5)
    all_, _ = several.reset(seed=5)
    for action in (1.0, 0.5, -0.5, 0.25, 0.0):
        numpy.testing.assert_array_equal(one, all_["consumer_0"])
        one = single.step([action])[0]
        all_ = several.step({"consumer_0": [action]})[0]
    single.close()
    several.close()


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ndnweir.ScenarioError, match="did you mean"):
        parallel_env("dumbel")
    with pytest.raises(ndnweir.InputError, match="a share from 0 to 1"):
        parallel_env("dumbbell", shared=2.0)
    env = parallel_env("dumbbell", set=SHORT)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.agents = ["consumer_0"]
        env.step({"consumer_0": [0.0]})
    env.reset(seed=1)
    with pytest.raises(ndnweir.InputError, match="consumer_1 has none"):
        env.step({"consumer_0": [0.0]})
    env.close()


def test_a_policy_as_a_component_gives_the_run_of_its_agents_in_the_environment(tmp_path: Path) -> None:
    policy = small()
    path = policy.save(tmp_path / "agent.toml", about="a test")
    env = gymnasium.make("ndnweir/Consumer-v0", scenario="dumbbell", base="aimd", set=SHORT)
    observation, info = env.reset(seed=3)
    truncated = False
    while not truncated:
        observation, _, _, truncated, info = env.step([policy.act(observation)])
    change = {**SHORT, **scheme(path, "learnt", base="aimd")}
    found = ndnweir.run("dumbbell", ["learnt"], [3], set=change, progress=False).runs.to_pydict()
    assert found["event_hash"] == info["results"].runs.to_pydict()["event_hash"]
    assert found["goodput_mbps"][0] > 3


def test_a_saved_policy_is_loaded_as_it_was(tmp_path: Path) -> None:
    policy = small(2)
    loaded = Policy.load(policy.save(tmp_path / "agent.toml"))
    assert loaded.layers == policy.layers and loaded.interval == policy.interval


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("layers = 3", "expected a sequence"),
        ("[[layers]]\nweights = [[1, 2]]\nbias = [0]", "row 1 has 2 weights"),
        ("[[layers]]\nweights = [[nan, 0, 0, 0, 0, 0, 0, 0]]\nbias = [0]", "agent.toml:3"),
        ("[[layers]]\nweights = [[1e9, 0, 0, 0, 0, 0, 0, 0]]\nbias = [0]", "out of range"),
        ("[[layers]]\nweights = [[", "agent.toml"),
        ("import = 'os'", "import"),
        ("x = '" + "x" * (1 << 20) + "'", "at most 1048576"),
        ("interval = '0us'", "too short"),
    ],
)
def test_hostile_files_are_rejected_with_a_reason(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(f'name = "policy"\n{text}\n')
    with pytest.raises(ndnweir.NdnweirError, match=words):
        Policy.load(path)


def test_weights_that_do_not_fit_are_not_saved(tmp_path: Path) -> None:
    wrong: Any = Policy([([[1.0]], [0.0])])
    with pytest.raises(ndnweir.NdnweirError, match="row 1 has 1 weights"):
        wrong.save(tmp_path / "agent.toml")
    assert not (tmp_path / "agent.toml").exists()
