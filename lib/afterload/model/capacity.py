"""A scaling group whose launches fail: the group, what fails, and what a team does about it.

What becomes of its capacity is computed in ``capacity_course``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.launches import RUN_INSTANCES, TERMINATE_INSTANCES, BucketLimits

__all__ = ["PROCESSES", "DesiredChange", "Fleet", "LaunchImpairment", "Protection"]

PROCESSES = (
    "AZRebalance",
    "AddToLoadBalancer",
    "AlarmNotification",
    "HealthCheck",
    "InstanceRefresh",
    "Launch",
    "ReplaceUnhealthy",
    "ScheduledActions",
    "Terminate",
)


@dataclass(frozen=True)
class Fleet:
    """A scaling group at the trigger.

    Attributes:
        in_service: instances in service.
        needed: instances that the load needs.
        desired: desired capacity; ``None`` for ``in_service``.
        maximum: the group's maximum; ``None`` for the desired capacity.
        boot_s, network_s: seconds from launch to running, and until its network state has spread.
        instances_per_request: instances asked for in one launch request.
        run_limits, terminate_limits: token buckets of launches and of terminations, the second full at the trigger.
        buckets_full: how full those of launches are at the trigger, 0 to 1.

    Raises:
        ModelError: a value out of its range, or a maximum below ``in_service`` or the desired capacity.
    """

    in_service: int
    needed: int
    maximum: int | None = None
    boot_s: float = 0.0
    network_s: float = 0.0
    instances_per_request: int = 1
    run_limits: BucketLimits = RUN_INSTANCES
    terminate_limits: BucketLimits = TERMINATE_INSTANCES
    desired: int | None = None
    buckets_full: float = 1.0

    def __post_init__(self) -> None:
        in_service = whole("in_service", self.in_service, least=0)
        whole("needed", self.needed, least=0)
        if whole("desired", self.wanted, least=0) == 0 and in_service == 0:
            raise ModelError("in_service and desired are 0; give a group that has or wants instances")
        number("buckets_full", self.buckets_full, most=1.0)
        number("boot_s", self.boot_s)
        number("network_s", self.network_s)
        whole("instances_per_request", self.instances_per_request)
        if self.maximum is not None and whole("maximum", self.maximum) < max(in_service, self.wanted):
            raise ModelError(f"maximum is {self.maximum}, below {max(in_service, self.wanted)} instances; raise it")

    @property
    def wanted(self) -> int:
        """The desired capacity."""
        return self.in_service if self.desired is None else self.desired

    @property
    def most(self) -> int:
        """The group's maximum."""
        return max(self.in_service, self.wanted) if self.maximum is None else self.maximum


@dataclass(frozen=True)
class DesiredChange:
    """A change of the desired capacity.

    Attributes:
        at_s: seconds after the trigger.
        change: instances more, or fewer if negative.
        is_scheduled: by a scheduled action; else by an alarm.
    """

    at_s: float
    change: int
    is_scheduled: bool = False

    def __post_init__(self) -> None:
        number("at_s", self.at_s)
        if number("change", self.change, least=None) != int(self.change):
            raise ModelError(f"change is {self.change}; give a whole number")


@dataclass(frozen=True)
class LaunchImpairment:
    """What fails, from second 0 on.

    Attributes:
        length_s: seconds for which launches fail and checks fail.
        unhealthy_per_min: instances a minute whose health check fails though most of them still serve.
        unhealthy_share: share of the instances in service at the trigger whose checks fail at all, 0 to 1.
        launch_success: share of launches that succeed meanwhile, 0 to 1.
        failures_spend: whether a launch that fails uses up tokens like one that succeeds, so that the bursts are spent
            at the restore.
        worth_of_unhealthy: work that an instance marked unhealthy still does, 0 to 1 of a healthy one.
        changes: changes of the desired capacity by alarms and schedules.
        rebalance: instances that zone rebalancing wants to move; it launches first.
        refresh: instances that an instance refresh wants to replace; it terminates first.
        refresh_healthy_share: least share of the desired capacity that the refresh keeps in service.

    Raises:
        ModelError: a value out of its range.
    """

    length_s: float
    unhealthy_per_min: float = 0.0
    launch_success: float = 0.0
    failures_spend: bool = True
    worth_of_unhealthy: float = 1.0
    changes: Sequence[DesiredChange] = ()
    rebalance: int = 0
    refresh: int = 0
    refresh_healthy_share: float = 0.9
    unhealthy_share: float = 1.0

    def __post_init__(self) -> None:
        number("length_s", self.length_s)
        number("unhealthy_per_min", self.unhealthy_per_min)
        for name in ("launch_success", "worth_of_unhealthy", "refresh_healthy_share", "unhealthy_share"):
            number(name, getattr(self, name), most=1.0)
        whole("rebalance", self.rebalance, least=0)
        whole("refresh", self.refresh, least=0)
        object.__setattr__(self, "changes", tuple(sorted(self.changes, key=lambda change: change.at_s)))


@dataclass(frozen=True)
class Protection:
    """What a team does about it.

    Attributes:
        suspended: names of suspended processes, from :data:`PROCESSES`.
        resume_at_s: seconds after the trigger at which they are resumed; ``None`` for never.
        resets_health: whether instances marked unhealthy are set healthy before the processes are resumed.
        velocity_per_min: most instances a minute that automation may remove; ``None`` for no limit.
        floor: instances in service at or below which automation removes none.
        uses_standby: whether an instance marked unhealthy goes to standby, and returns when the impairment ends,
            instead of being terminated.
        provisioned: instances in service before the trigger on top of the fleet's.

    Raises:
        ModelError: an unknown process, or a value out of its range.
    """

    suspended: frozenset[str] = frozenset()
    resume_at_s: float | None = None
    resets_health: bool = False
    velocity_per_min: float | None = None
    uses_standby: bool = False
    provisioned: int = 0
    floor: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "suspended", frozenset(self.suspended))
        unknown = sorted(self.suspended - set(PROCESSES))
        if unknown:
            raise ModelError(f"suspended holds {', '.join(unknown)}; processes are {', '.join(PROCESSES)}")
        if self.resume_at_s is not None:
            number("resume_at_s", self.resume_at_s)
        if self.velocity_per_min is not None:
            number("velocity_per_min", self.velocity_per_min)
        whole("provisioned", self.provisioned, least=0)
        whole("floor", self.floor, least=0)
