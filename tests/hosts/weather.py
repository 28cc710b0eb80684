"""The weather: what befalls the machines of a trial, and when, decided beforehand by a seed."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Literal, get_args

from msgspec import Struct

from .hasty import LEASE_SECONDS
from .machine import Machine

Deed = Literal["kill host", "kill runner", "kill all", "cut", "freeze host", "freeze all"]
DEEDS: tuple[Deed, ...] = get_args(Deed)


class Blow(Struct, frozen=True):
    """`pause` seconds after the one before, something happens and lasts so many seconds."""

    pause: float
    deed: Deed
    seconds: float


def forecast(seed: int, machine: int, blows: int) -> list[Blow]:
    """Mostly longer than a lease, and sometimes so short that nobody else notices."""
    chance = random.Random(f"{seed} {machine}")
    return [
        Blow(
            chance.uniform(1.0, LEASE_SECONDS),
            chance.choice(DEEDS),
            chance.uniform(1.5, 2.5) * LEASE_SECONDS if chance.random() < 0.6 else chance.uniform(0.2, LEASE_SECONDS),
        )
        for _ in range(blows)
    ]


class Weather:
    """Falls on every machine by itself, until it is over or `stop` is called; then everything is brought back."""

    def __init__(self, machines: Sequence[Machine], seed: int, blows: int) -> None:
        self._stopped = threading.Event()
        self._seed = seed
        self._blows = blows
        self.fell: Counter[str] = Counter()
        self._threads = [
            threading.Thread(target=self._fall, args=(machine, forecast(seed, number, blows)), name=f"weather {number}")
            for number, machine in enumerate(machines)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _fall(self, machine: Machine, blows: Sequence[Blow]) -> None:
        for blow in blows:
            if self._stopped.wait(blow.pause):
                return
            self.fell[blow.deed] += 1
            _begin(machine, blow.deed)
            self._stopped.wait(blow.seconds)
            _end(machine, blow.deed)


def _begin(machine: Machine, deed: Deed) -> None:
    match deed:
        case "kill host":
            machine.kill_host()
        case "kill runner":
            machine.kill_runner()
        case "kill all":
            machine.kill_all()
        case "cut":
            machine.cut()
        case "freeze host":
            machine.freeze(agents=False)
        case "freeze all":
            machine.freeze(agents=True)


def _end(machine: Machine, deed: Deed) -> None:
    if deed == "cut":
        machine.join()
    elif deed.startswith("freeze"):
        machine.thaw()
    machine.start()
