"""Environments of PettingZoo: all consumers of a scenario are agents that act at the same time.

Needs the packages ``pettingzoo`` and ``gymnasium``.

>>> import ndnweir.pettingzoo
>>> env = ndnweir.pettingzoo.parallel_env("dumbbell", set={"run.duration": "5s"})
>>> observations, infos = env.reset(seed=1)
>>> env.agents
['consumer_0', 'consumer_1']
>>> observations, rewards, terminations, truncations, infos = env.step({agent: [0.5] for agent in env.agents})
>>> sorted(rewards), any(truncations.values())
(['consumer_0', 'consumer_1'], False)
>>> env.close()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import gymnasium
from pettingzoo import ParallelEnv

from ._scenario import Scenario
from .errors import InputError
from .gym import Episode, Step, Turn, action_space, observation_space, reward, starter


class Consumers(ParallelEnv[str, Any, Any]):
    """The consumers of a scenario, over the other parts of the scheme ``base``, as agents ``consumer_0``, ``consumer_1``
    and so on, in the order of their names.

    A step is made at the first Data or failure of any of them after ``interval`` seconds; all observe and act then.
    Observation, action and ``reward`` of each are those of :class:`ndnweir.gym.Consumer`, of what happened to this
    consumer since the last step; with ``shared`` above 0 this share of a reward is the mean of all. All are truncated
    at the end of the scenario's run, never terminated; ``infos`` have the values of the :class:`ndnweir.gym.Step`, and
    after the last one ``results``. Consumers whose flows come and go are rejected.
    """

    metadata: dict[str, Any] = {"name": "ndnweir_consumers_v0", "render_modes": []}

    def __init__(
        self,
        scenario: str | Scenario = "dumbbell",
        *,
        base: str = "bic",
        interval: float = 0.1,
        set: Mapping[str, object] | Iterable[str] | None = None,
        reward: Callable[[Step], float] = reward,
        shared: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        if not 0.0 <= shared <= 1.0:
            raise InputError(f"shared={shared}: give a share from 0 to 1")
        self.scenario = scenario
        self.base = base
        self.interval = interval
        self.set = set if set is None or isinstance(set, Mapping) else [*set]
        self.reward = reward
        self.shared = shared
        self.render_mode = render_mode
        self._episode: Episode | None = None
        self._random = gymnasium.utils.seeding.np_random(None)[0]
        # A run makes its consumers before it begins; how many there are is known then.
        self._begin(1)
        self.close()
        self.observation_spaces = {agent: observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: action_space() for agent in self.possible_agents}

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Eight numbers (:meth:`ndnweir.gym.Step.observation`)."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """One number in [-1, 1]: the window is multiplied by 2 to the power of it."""
        return self.action_spaces[agent]

    def _begin(self, seed: int) -> list[Turn]:
        start = starter(self.scenario, self.base, seed, self.set)
        self._episode = Episode(start, self.interval, together=True)
        turns = self._episode.next()
        if turns is None:
            self._episode = None
            raise InputError("no consumer of this scenario receives anything")
        self.possible_agents = [self._name(turn) for turn in turns]
        return turns

    @staticmethod
    def _name(turn: Turn) -> str:
        return f"consumer_{turn.agent}"

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begins a run; its seed is ``seed``, or the next of the environment's generator."""
        if seed is not None:
            self._random = gymnasium.utils.seeding.np_random(seed)[0]
        self.close()
        turns = self._begin(int(self._random.integers(1, 2**32)) if seed is None else seed)
        self.agents = [*self.possible_agents]
        self._observations = {self._name(turn): turn.step.observation() for turn in turns}
        return self._observations, self._infos(turns)

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Multiplies the window of each consumer by 2 to the power of its action and runs until the next step."""
        agents = [*self.agents]
        if self._episode is None:
            if not agents:
                return {}, {}, {}, {}, {}
            raise gymnasium.error.ResetNeeded("reset the environment before a step")
        missing = [agent for agent in agents if agent not in actions]
        if missing:
            raise InputError(f"actions: give one for each agent; {', '.join(missing)} has none")
        self._episode.act(actions[agent] for agent in agents)
        turns = self._episode.next()
        ended = turns is None
        if turns is None:
            rewards = dict.fromkeys(agents, 0.0)
            infos: dict[str, dict[str, Any]] = {agent: {"results": self._episode.results} for agent in agents}
            self._episode, self.agents = None, []
        else:
            own = [float(self.reward(turn.step)) for turn in turns]
            mean = sum(own) / len(own)
            rewards = dict(zip(agents, (self.shared * mean + (1.0 - self.shared) * one for one in own), strict=True))
            self._observations = {self._name(turn): turn.step.observation() for turn in turns}
            infos = self._infos(turns)
        return self._observations, rewards, dict.fromkeys(agents, False), dict.fromkeys(agents, ended), infos

    def _infos(self, turns: list[Turn]) -> dict[str, dict[str, Any]]:
        return {self._name(turn): asdict(turn.step) for turn in turns}

    def render(self) -> None:
        """There is nothing to see; ``report()`` of the results has pictures."""

    def close(self) -> None:
        """Ends the run."""
        if self._episode is not None:
            self._episode.end()
            self._episode = None


def parallel_env(scenario: str | Scenario = "dumbbell", **options: Any) -> Consumers:
    """:class:`Consumers`, by the name that PettingZoo's environments have."""
    return Consumers(scenario, **options)
