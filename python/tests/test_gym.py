"""Environments of Gymnasium."""

from __future__ import annotations

import gymnasium
import numpy
import pytest
from gymnasium.utils.env_checker import check_env

import ndnweir.gym
from networks import ONE


def make(**options: object) -> gymnasium.Env:
    return gymnasium.make("ndnweir/Consumer-v0", scenario=ONE, **options)


def test_gymnasiums_own_check_passes() -> None:
    env = make()
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_an_agent_that_holds_the_product_of_rate_and_delay_fills_the_link() -> None:
    env = make(base="plain")
    env.reset(seed=3)
    steps, info = 0, {}
    truncated = False
    # 8 Mbit/s times 20 ms are 19 Data of 1,066 B; from 2 to 32 by doubling, then hold.
    while not truncated:
        observation, reward, terminated, truncated, info = env.step([1.0 if steps < 4 else 0.0])
        assert observation.shape == (8,) and not terminated and numpy.isfinite(reward)
        steps += 1
    assert 30 <= steps <= 42
    results = info["results"].runs.to_pydict()
    assert results["goodput_mbps"][0] > 0.9 * 8 * 1024 / 1066 * 0.9
    assert results["scheme"] == ["agent"]


def test_the_same_seed_and_actions_give_the_same_episode() -> None:
    def episode(seed: int) -> list[float]:
        env = make()
        env.reset(seed=seed)
        rewards = [env.step([action])[1] for action in (1, 1, 0.5, 0, -0.5, 0, 0, 0.2)]
        env.close()
        return rewards

    assert episode(7) == episode(7)
    assert episode(7) != episode(8)


def test_several_consumers_take_turns() -> None:
    env = gymnasium.make("ndnweir/Consumer-v0", scenario="dumbbell", set={"run.duration": "3s"})
    env.reset(seed=1)
    agents = {env.step([0.3])[4]["agent"] for _ in range(12)}
    env.close()
    assert agents == {0, 1}


def test_an_episode_that_is_given_up_ends_and_its_thread_too() -> None:
    import threading

    before = threading.active_count()
    env = make()
    for _ in range(3):
        env.reset()
        env.step([0.0])
    env.close()
    assert threading.active_count() == before
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.unwrapped.step([0.0])


def test_errors_of_the_scenario_reach_who_resets() -> None:
    env = gymnasium.make("ndnweir/Consumer-v0", scenario="dumbel")
    with pytest.raises(ndnweir.ScenarioError, match="did you mean"):
        env.reset()


def test_a_reward_of_ones_own_is_used() -> None:
    env = make(reward=lambda step: float(step.data))
    env.reset(seed=1)
    assert env.step([1.0])[1] >= 1.0
    env.close()
