"""Launching and removing instances through two token buckets in series: requests, and instances.

A request passes when the request bucket holds one token and the instance bucket holds one for each instance asked for.
Buckets stop filling at their burst, so a bucket that waits for the other loses refill; the event times count that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray

__all__ = [
    "RUN_INSTANCES",
    "TERMINATE_INSTANCES",
    "BucketLimits",
    "Launches",
    "launch",
    "long_run_per_min",
    "removal_time_s",
]

Binding: TypeAlias = Literal["requests", "instances", "both", "neither"]


@dataclass(frozen=True)
class BucketLimits:
    """Sizes and refills of the two buckets of one API call in one region.

    Attributes:
        request_burst: requests that a full bucket admits at once, at least 1.
        requests_per_s: requests a second once the burst is spent.
        instance_burst: instances that a full bucket admits at once, at least 1.
        instances_per_s: instances a second once the burst is spent.

    Raises:
        ModelError: a value that is not a finite number in its range.
    """

    request_burst: float
    requests_per_s: float
    instance_burst: float
    instances_per_s: float

    def __post_init__(self) -> None:
        number("request_burst", self.request_burst, least=1.0)
        number("requests_per_s", self.requests_per_s, above=0.0)
        number("instance_burst", self.instance_burst, least=1.0)
        number("instances_per_s", self.instances_per_s, above=0.0)

    def left_over(self, throttle_factor: float = 1.0, other_callers_share: float = 0.0) -> BucketLimits:
        """What is left of the buckets under a provider throttle and beside other callers.

        Parameters:
            throttle_factor: above 0 to 1; scales bursts and refills.
            other_callers_share: 0 to below 1; the share of both buckets that others use.

        Raises:
            ModelError: a value out of range, or so little left that no request ever passes.
        """
        throttle = number("throttle_factor", throttle_factor, above=0.0, most=1.0)
        others = number("other_callers_share", other_callers_share, below=1.0)
        # Rounded, since 1,000 x (1 - 0.9) is 99.99999999999997 and would refuse a request of 100.
        kept = throttle * (1.0 - others)
        requests, instances = round(self.request_burst * kept, 9), round(self.instance_burst * kept, 9)
        for name, burst in (("request", requests), ("instance", instances)):
            if burst < 1.0:
                raise ModelError(
                    f"throttle_factor {throttle:g} and other_callers_share {others:g} leave a {name} bucket of"
                    f" {burst:g}, so no request can ever pass; raise the factor or lower the share"
                )
        return BucketLimits(requests, self.requests_per_s * kept, instances, self.instances_per_s * kept)


# Planning guide and the provider's page on API throttling.
RUN_INSTANCES = BucketLimits(request_burst=5, requests_per_s=2, instance_burst=1000, instances_per_s=2)
TERMINATE_INSTANCES = BucketLimits(request_burst=100, requests_per_s=5, instance_burst=1000, instances_per_s=20)


@dataclass(frozen=True, eq=False)
class Launches:
    """When instances are launched and when they serve.

    Attributes:
        times_s: when each request is admitted, seconds after the first try, shape (requests,), never falling.
        instances: instances launched up to and with each request, shape (requests,).
        wait_s: seconds until the last request is admitted: the time spent in the buckets.
        in_service_s: seconds until all of them serve, with boot and network propagation.
        requests_alone_s: the wait if only the request bucket existed.
        instances_alone_s: the wait if only the instance bucket existed.
        binding: the bucket with the longer wait of its own; "neither" when nothing waits.
        start_delay_s: boot and network propagation of one instance, in seconds.
    """

    times_s: FloatArray
    instances: npt.NDArray[np.int64]
    wait_s: float
    in_service_s: float
    requests_alone_s: float
    instances_alone_s: float
    binding: Binding
    start_delay_s: float


def launch(
    n: int,
    limits: BucketLimits = RUN_INSTANCES,
    *,
    instances_per_request: int = 1,
    throttle_factor: float = 1.0,
    other_callers_share: float = 0.0,
    buckets_full: float = 1.0,
    boot_s: float = 0.0,
    network_s: float = 0.0,
) -> Launches:
    """How long it takes to have ``n`` instances in service.

    Parameters:
        n: instances wanted, 0 or more.
        limits: the buckets, before throttle and other callers.
        instances_per_request: instances asked for in one request; the last request may ask for fewer.
        throttle_factor: above 0 to 1; a provider's throttle on bursts and refills.
        other_callers_share: 0 to below 1; the share of both buckets that others use.
        buckets_full: level of both buckets at the start, 1 full to 0 spent.
        boot_s, network_s: seconds from launch to running, and until its network state has spread.

    Raises:
        ModelError: a value out of range, or a request larger than the instance bucket, which never passes.

    Source: docs/model.md section 4.
    """
    wanted = whole("n", n, least=0)
    size = whole("instances_per_request", instances_per_request)
    full = number("buckets_full", buckets_full, most=1.0)
    delay = number("boot_s", boot_s) + number("network_s", network_s)
    left = limits.left_over(throttle_factor, other_callers_share)
    if min(size, wanted) > left.instance_burst:
        raise ModelError(
            f"a request for {min(size, wanted)} instances is larger than the instance bucket of"
            f" {left.instance_burst:g} and can never be admitted; ask for at most"
            f" {int(left.instance_burst)} a request"
        )
    whole_requests, rest = divmod(wanted, size)
    sizes = [size] * whole_requests + ([rest] if rest else [])
    times = _admitted_at(sizes, left, full)
    wait = times[-1] if times else 0.0
    requests_alone = max(0.0, (len(sizes) - full * left.request_burst) / left.requests_per_s)
    instances_alone = max(0.0, (wanted - full * left.instance_burst) / left.instances_per_s)
    return Launches(
        times_s=np.array(times, dtype=np.float64),
        instances=np.cumsum(np.array(sizes, dtype=np.int64)),
        wait_s=wait,
        in_service_s=wait + delay if wanted else 0.0,
        requests_alone_s=requests_alone,
        instances_alone_s=instances_alone,
        binding=_binding(wait, requests_alone, instances_alone),
        start_delay_s=delay,
    )


def removal_time_s(n: int, instances_per_request: int = 1) -> float:
    """Seconds until the last of ``n`` instances has been told to end, by the same buckets as :func:`launch`.

    Raises:
        ModelError: as :func:`launch`.

    Source: provider's page on API throttling: capacity can be removed ten times faster than replaced.
    """
    return launch(n, TERMINATE_INSTANCES, instances_per_request=instances_per_request).wait_s


def long_run_per_min(
    limits: BucketLimits = RUN_INSTANCES,
    *,
    instances_per_request: int = 1,
    throttle_factor: float = 1.0,
    other_callers_share: float = 0.0,
) -> float:
    """Instances a minute once both bursts are spent.

    Raises:
        ModelError: as :func:`launch`.

    Source: planning guide: about 120 a minute for RunInstances.
    """
    size = whole("instances_per_request", instances_per_request)
    left = limits.left_over(throttle_factor, other_callers_share)
    if size > left.instance_burst:
        raise ModelError(
            f"a request for {size} instances is larger than the instance bucket of {left.instance_burst:g} and can"
            f" never be admitted; ask for at most {int(left.instance_burst)} a request"
        )
    return 60.0 * min(left.instances_per_s, size * left.requests_per_s)


def _admitted_at(sizes: list[int], limits: BucketLimits, full: float) -> list[float]:
    """Admission time of each request, in seconds.

    Each bucket is held as the time at which it would be full again, which needs no level to be updated.
    """
    request_burst_s = limits.request_burst / limits.requests_per_s
    instance_burst_s = limits.instance_burst / limits.instances_per_s
    requests_full_at = (1.0 - full) * request_burst_s
    instances_full_at = (1.0 - full) * instance_burst_s
    one_request_s = 1.0 / limits.requests_per_s
    now = 0.0
    times: list[float] = []
    for size in sizes:
        instances_s = size / limits.instances_per_s
        now = max(
            now,
            requests_full_at + one_request_s - request_burst_s,
            instances_full_at + instances_s - instance_burst_s,
        )
        requests_full_at = max(requests_full_at, now) + one_request_s
        instances_full_at = max(instances_full_at, now) + instances_s
        times.append(now)
    return times


def _binding(wait_s: float, requests_alone_s: float, instances_alone_s: float) -> Binding:
    slack = 1e-9 * max(1.0, wait_s)
    if wait_s <= slack:
        return "neither"
    if abs(requests_alone_s - instances_alone_s) <= slack:
        return "both"
    return "requests" if requests_alone_s > instances_alone_s else "instances"
