"""A team's inputs as typed, validated data, read from one YAML file."""

from afterload.scenario.attachments import ArrivalSeries, ImpactWindow, Reading, TimelineEvent
from afterload.scenario.load import LoadedScenario, load_scenario, load_scenario_text
from afterload.scenario.opened import LastOpened
from afterload.scenario.overrides import Overrides, read_overrides
from afterload.scenario.problems import Problem, dotted
from afterload.scenario.schema import REMOVAL_PROCESSES, CallStack, Client, Dependency, Fleet, Incident, Queue, Scenario

__all__ = [
    "REMOVAL_PROCESSES",
    "ArrivalSeries",
    "CallStack",
    "Client",
    "Dependency",
    "Fleet",
    "ImpactWindow",
    "Incident",
    "LastOpened",
    "LoadedScenario",
    "Overrides",
    "Problem",
    "Queue",
    "Reading",
    "Scenario",
    "TimelineEvent",
    "dotted",
    "load_scenario",
    "load_scenario_text",
    "read_overrides",
]
