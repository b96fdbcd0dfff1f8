"""A recovery item by item and request by request, as an oracle for the coupled model. It shares no code with it.

Every item arrives by itself, is hashed to a partition, waits in line there, is taken by a consumer that is free, and makes its
calls attempt by attempt; each attempt is an event at a dependency, which counts what arrives in a sliding window. Nothing here
is solved: a drain is the moment when a line is found empty.

What single requests do:

- Consumers with an item time are so many workers, each busy with one item; a last one that is there for a part of its time takes
  longer. Consumers without one take an item at each beat, and do not wait for what becomes of it.
- An attempt at a dependency that is down takes the time-out, one that is rejected no time; then a part of the back-off, and it
  comes again until its attempts are spent; the item goes back to its line, or is
  dead-lettered after ``max_receives`` deliveries.
- A collapsed dependency answers as many first attempts as its goodput allows and none of the others. When the attempts of the
  window fit into its capacity, those of the last time-out still stand in its own line, and it works them off before it answers.
- A dependency that rejects has a bucket of tokens for whoever comes first. Of what a collapsed one still does, direct and control
  traffic may take the last, items may not.
- Replicas follow the algorithm of the Kubernetes horizontal pod autoscaler, sync by sync; instances start one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numba import njit

TICK = 0.02
WINDOW_TICKS = 10
# Retries of consumers without an item time come within this many minutes.
SOON = 0.05
# Items that a partition whose batches were held up may give at once.
BATCH = 20
INF = math.inf

TICKED, ARRIVES, BEATS, ENDS, TRIES, VISIBLE, FREE, WAKES, CONTROL, DIRECT, AGAIN = range(11)

QUEUE = np.dtype(
    [
        (name, np.float64)
        for name in (
            "rate item_min cap ramp_start ramp_per_min ramp_ceiling reserved consumers connections hold_min attempts timeout_min "
            "backoff_min max_receives redelivery_min max_age served_in_outage spread_min each backlog_before begins "
            "first_rate gate_min"
        ).split()
    ]
    + [
        (name, np.int64)
        for name in (
            "first_lane lanes first_line lines first_call calls fan_out retries fleet scaler course lifo irregular "
            "receives_in_outage rejects_in_outage"
        ).split()
    ]
)
LANE = np.dtype([(name, np.int64) for name in "queue first_line lines".split()])
DEPENDENCY = np.dtype(
    [
        (name, np.float64)
        for name in (
            "capacity control fresh surge surge_decay attempts goodput throttle timeout_min control_backlog catch_up begins"
        ).split()
    ]
    + [(name, np.int64) for name in "collapsed collapses retries course profile".split()]
)
POOL = np.dtype([(name, np.float64) for name in "tokens sustained refill".split()])
FLEET = np.dtype([(name, np.float64) for name in "running needed burst per_min delay launches_from".split()])
SCALER = np.dtype(
    [
        (name, np.float64)
        for name in (
            "target each least most at_restore sync tolerance up_replicas up_percent up_period up_window down_replicas "
            "down_percent down_period down_window start fits node"
        ).split()
    ]
    + [("metric", np.int64)]
)


@njit(cache=True)
def _push(times, kinds, firsts, seconds, size, at, kind, first, second):
    place = size[0]
    if place >= len(times):
        raise MemoryError("more events than planned for")
    size[0] = place + 1
    while place > 0:
        above = (place - 1) >> 1
        if times[above] <= at:
            break
        times[place], kinds[place] = times[above], kinds[above]
        firsts[place], seconds[place] = firsts[above], seconds[above]
        place = above
    times[place], kinds[place], firsts[place], seconds[place] = at, kind, first, second


@njit(cache=True)
def _pop(times, kinds, firsts, seconds, size):
    # What was first is left just behind the end.
    size[0] -= 1
    last = size[0]
    top, top_kind, top_first, top_second = times[0], kinds[0], firsts[0], seconds[0]
    at, kind, first, second = times[last], kinds[last], firsts[last], seconds[last]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= last:
            break
        if below + 1 < last and times[below + 1] < times[below]:
            below += 1
        if times[below] >= at:
            break
        times[place], kinds[place] = times[below], kinds[below]
        firsts[place], seconds[place] = firsts[below], seconds[below]
        place = below
    times[place], kinds[place], firsts[place], seconds[place] = at, kind, first, second
    times[last], kinds[last], firsts[last], seconds[last] = top, top_kind, top_first, top_second


@njit(cache=True)
def _step_value(first, starts, values, which, t):
    """What a course of steps is at a time; 1 before its first step and without a course."""
    value = 1.0
    if which >= 0:
        for place in range(first[which], first[which + 1]):
            if starts[place] <= t:
                value = values[place]
    return value


@njit(cache=True)
def _wanted(scaler, now, ready, metric):
    """Replicas by the metric alone: the published algorithm, pods that do not serve yet included."""
    target = scaler.target
    if scaler.metric == 0:
        ratio = metric / (target * now) if now > 0 else (2.0 if metric > 0 else 0.0)
        return now if abs(ratio - 1.0) <= scaler.tolerance and now > 0 else math.ceil(metric / target - 1e-9)
    ratio = metric / target
    if now == 0:
        return math.ceil(ratio - 1e-9)
    if scaler.metric == 1:
        return now if abs(ratio - 1.0) <= scaler.tolerance else math.ceil(ratio * ready - 1e-9)
    if ratio > 1.0 and ready < now:
        spread = ratio * ready / now
        if abs(spread - 1.0) <= scaler.tolerance or spread < 1.0:
            return now
        return max(now, math.ceil(spread * now - 1e-9))
    return now if abs(ratio - 1.0) <= scaler.tolerance else math.ceil(ratio * ready - 1e-9)


@njit(cache=True)
def _decide(scaler, t, now, wish, wish_times, wishes, changed_at, changed_by, counts):
    """The replicas set at a sync, from the wish: stabilisation, then policies, then the bounds."""
    lowest = highest = wish
    for place in range(counts[0]):
        if wish_times[place] > t - scaler.up_window + 1e-9:
            lowest = min(lowest, wishes[place])
        if wish_times[place] > t - scaler.down_window + 1e-9:
            highest = max(highest, wishes[place])
    wish_times[counts[0]], wishes[counts[0]] = t, wish
    counts[0] += 1
    settled = now
    if settled < lowest:
        settled = lowest
    if settled > highest:
        settled = highest
    added = removed = 0.0
    for place in range(counts[1]):
        if changed_by[place] > 0 and changed_at[place] > t - scaler.up_period + 1e-9:
            added += changed_by[place]
        if changed_by[place] < 0 and changed_at[place] > t - scaler.down_period + 1e-9:
            removed -= changed_by[place]
    if settled > now:
        begun = now - added
        limit = max(begun + scaler.up_replicas, math.ceil(begun * (1 + scaler.up_percent / 100) - 1e-9))
        settled = min(settled, max(limit, now))
    elif settled < now:
        begun = now + removed
        limit = min(begun - scaler.down_replicas, math.floor(begun * (1 - scaler.down_percent / 100) + 1e-9))
        settled = max(settled, min(limit, now))
    settled = min(max(settled, scaler.least), scaler.most)
    if settled != now:
        changed_at[counts[1]], changed_by[counts[1]] = t, settled - now
        counts[1] += 1
    return settled


@njit(cache=True)
def _run(
    begin, until, quiet_min, queues, lanes, lines_shares, calls_to, calls_per_item, dependencies, pools, fleets, scalers,
    profile_first, profile_edges, profile_rates, course_first, course_starts, course_values, room_for_items, room_for_events,
    seed, drained, at_restore, counts, down_min, most_attempts, direct_counts, replicas_seen,
):  # fmt: skip
    np.random.seed(seed)
    times, kinds = np.empty(room_for_events), np.empty(room_for_events, np.int8)
    firsts, seconds = np.empty(room_for_events, np.int32), np.empty(room_for_events, np.int32)
    size = np.zeros(1, np.int64)
    nq, nl, nk, nf, nlines = len(queues), len(lanes), len(dependencies), len(fleets), len(lines_shares)
    # Items, in lines that are linked both ways.
    arrived, receives = np.empty(room_for_items), np.zeros(room_for_items, np.int16)
    before, after = np.full(room_for_items, -1, np.int32), np.full(room_for_items, -1, np.int32)
    lane_of, line_of = np.zeros(room_for_items, np.int32), np.zeros(room_for_items, np.int32)
    tries, quota = np.zeros(room_for_items, np.int16), np.zeros(room_for_items, np.int16)
    at_call, left_of_call = np.zeros(room_for_items, np.int16), np.zeros(room_for_items, np.int16)
    answered, partly, failing = (
        np.zeros(room_for_items, np.int64),
        np.zeros(room_for_items, np.bool_),
        np.zeros(room_for_items, np.bool_),
    )
    began, spent = np.zeros(room_for_items), np.zeros(room_for_items)
    items = 0
    head, tail = np.full(nlines, -1, np.int32), np.full(nlines, -1, np.int32)
    gate, length = np.full(nlines, begin), np.zeros(nlines, np.int64)
    lane_of_line = np.zeros(nlines, np.int64)
    waiting, limbo, busy = np.zeros(nl, np.int64), np.zeros(nl, np.int64), np.zeros(nl, np.int64)
    part_busy, workers, pace = np.zeros(nl, np.bool_), np.zeros(nl), np.zeros(nl)
    turn, woken = np.zeros(nl, np.int64), np.full(nl, np.inf)
    lane_drained, beats_idle, beats_all = np.full(nl, np.nan), np.zeros(nl), np.zeros(nl)
    connections = queues["connections"].copy()
    pool_head, pool_tail = np.full(nq, -1, np.int32), np.full(nq, -1, np.int32)
    hashed = np.zeros(nq)
    owed_attempts, owed_calls = np.zeros(nq + nk), np.zeros(len(calls_to))
    # Dependencies.
    collapsed, begun = np.zeros(nk, np.bool_), False
    line, since = np.zeros(nk), np.zeros(nk)
    bucket, filled = np.zeros(nk), np.full(nk, begin)
    bins = np.zeros((nk, int((until - begin) / TICK) + 5), np.int64)
    leases = dependencies["control_backlog"].copy()
    tokens = pools["tokens"].copy()
    in_service, launched = fleets["running"].copy(), np.zeros(nf)
    boots = np.full((nf, 4096), np.inf)
    ns = len(scalers)
    set_to, serving = scalers["at_restore"].copy(), scalers["at_restore"].copy()
    ready_at = np.full((ns, 4096), np.inf)
    wish_times, wishes = np.zeros((ns, replicas_seen.shape[1] + 1)), np.zeros((ns, replicas_seen.shape[1] + 1))
    changed_at, changed_by = np.zeros((ns, replicas_seen.shape[1] + 1)), np.zeros((ns, replicas_seen.shape[1] + 1))
    history, synced = np.zeros((ns, 2), np.int64), np.zeros(ns, np.int64)
    worked, offered_work = np.zeros(ns), np.zeros(ns)
    # The controller begins with what it finds as its first recommendation.
    for s in range(ns):
        wishes[s, 0], history[s, 0] = set_to[s], 1
    quiet_since = np.inf
    for item in range(nl):
        for place in range(lanes[item].first_line, lanes[item].first_line + lanes[item].lines):
            lane_of_line[place] = item
        if queues[lanes[item].queue].item_min == 0:
            _push(times, kinds, firsts, seconds, size, begin, BEATS, item, 0)
    for q in range(nq):
        _push(times, kinds, firsts, seconds, size, begin + 1e-9, ARRIVES, q, 0)
    for k in range(nk):
        start = begin if dependencies[k].begins < 0 else 0.0
        if dependencies[k].control + dependencies[k].control_backlog > 0:
            _push(times, kinds, firsts, seconds, size, start, CONTROL, k, 0)
        if dependencies[k].fresh + dependencies[k].surge > 0 or dependencies[k].profile >= 0:
            _push(times, kinds, firsts, seconds, size, start, DIRECT, k, 0)
    _push(times, kinds, firsts, seconds, size, begin, TICKED, 0, 0)
    while size[0] > 0:
        _pop(times, kinds, firsts, seconds, size)
        last = size[0]
        t, kind, first, second = times[last], kinds[last], firsts[last], seconds[last]
        if t > until:
            break
        one = -1  # a lane to look at after this event
        call_item = -1  # an item that makes its next attempt
        fail_item = False
        if kind == ARRIVES:
            q = queues[first]
            rate = profile_rates[profile_first[first]]
            for place in range(profile_first[first], profile_first[first + 1]):
                if profile_edges[place] <= t + 1e-12:
                    rate = profile_rates[place]
            number = 1 if second < 2 else 0
            if second == 0:
                # What waited at the trigger arrived before it at the first rate.
                number = int(q.backlog_before)
            elif q.rejects_in_outage and t < 0:
                number = 0
            for place in range(number):
                born = t
                if second == 0:
                    born = begin - (number - place - 0.5) / q.first_rate if q.first_rate > 0 else begin
                hashed[first] = (hashed[first] + 0.6180339887498949) % 1.0
                chosen, edge = q.first_line, lines_shares[q.first_line]
                while hashed[first] >= edge and chosen < q.first_line + q.lines - 1:
                    chosen += 1
                    edge += lines_shares[chosen]
                if items >= room_for_items:
                    raise MemoryError("more items than planned for")
                arrived[items], line_of[items], lane_of[items] = born, chosen, lane_of_line[chosen]
                before[items] = tail[chosen]
                if tail[chosen] >= 0:
                    after[tail[chosen]] = items
                else:
                    head[chosen] = items
                tail[chosen] = items
                length[chosen] += 1
                waiting[lane_of_line[chosen]] += 1
                one = lane_of_line[chosen]
                items += 1
                if second > 0:
                    counts[first, 0] += 1
            if second == 0:
                at = t + 0.5 / rate if rate > 0 else t + TICK
                _push(times, kinds, firsts, seconds, size, at, ARRIVES, first, 2 if rate <= 0 else 1)
            else:
                if rate > 0:
                    _push(times, kinds, firsts, seconds, size, t + 1.0 / rate, ARRIVES, first, 1)
                else:
                    _push(times, kinds, firsts, seconds, size, t + TICK, ARRIVES, first, 2)
        elif kind == ENDS:
            # A consumer is free again.
            one = lane_of[second]
            if partly[second]:
                part_busy[one] = False
                partly[second] = False
            else:
                busy[one] -= 1
            if failing[second]:
                fail_item = True
        elif kind == TRIES:
            call_item = second
        elif kind in (VISIBLE, FREE):
            one = lane_of[second]
        elif kind == WAKES:
            one = first
            woken[first] = np.inf
        elif kind in (CONTROL, DIRECT, AGAIN):
            k = dependencies[first]
            is_control = kind == CONTROL or (kind == AGAIN and second % 2 == 1)
            rate = 0.0
            if kind == CONTROL:
                rate = k.control + (k.catch_up if leases[first] >= 1 and t >= 0 else 0.0)
            elif kind == DIRECT:
                rate = k.fresh
                if k.profile >= 0:
                    for place in range(profile_first[k.profile], profile_first[k.profile + 1]):
                        if profile_edges[place] <= t + 1e-12:
                            rate = profile_rates[place]
                if t >= 0 and k.surge > 0:
                    rate += k.surge * math.exp(-t / k.surge_decay)
            if kind != AGAIN:
                irregular = not collapsed[first] and (k.throttle < np.inf or not k.collapses)
                wait = np.random.exponential() if irregular else 0.5 + np.random.random()
                _push(
                    times,
                    kinds,
                    firsts,
                    seconds,
                    size,
                    t + (wait / rate if rate > 0 else TICK),
                    kind,
                    first,
                    0,
                )
            if kind == AGAIN or rate > 0:
                # One attempt of a direct or control request.
                bins[first, int((t - begin) / TICK)] += 1
                course = _step_value(course_first, course_starts, course_values, k.course, t)
                flow = (
                    k.capacity * course * k.goodput
                    if collapsed[first]
                    else min(k.throttle, INF if k.collapses else k.capacity * course)
                )
                served = not collapsed[first] and flow == np.inf
                if not served and (kind != AGAIN or not collapsed[first]):
                    most = max(2.0, flow * SOON)
                    bucket[first] = min(most, bucket[first] + flow * (t - filled[first]))
                    filled[first] = t
                    if bucket[first] >= 1.0:
                        bucket[first] -= 1.0
                        served = True
                pool = k.retries
                if served:
                    if is_control and leases[first] >= 1:
                        leases[first] -= 1
                    if not is_control:
                        direct_counts[first, 0] += 1
                    if not collapsed[first]:
                        tokens[pool] = min(pools[pool].tokens, tokens[pool] + pools[pool].refill)
                else:
                    left = second // 2
                    if kind != AGAIN:
                        each = k.attempts if tokens[pool] >= 1 else min(k.attempts, pools[pool].sustained)
                        owed_attempts[nq + first] += each - 1.0
                        left = int(owed_attempts[nq + first] + 1e-9)
                        owed_attempts[nq + first] -= left
                    if left > 0:
                        tokens[pool] = max(0.0, tokens[pool] - 1.0)
                        wait = (k.timeout_min if collapsed[first] else 0.0) + SOON * np.random.random()
                        _push(times, kinds, firsts, seconds, size, t + wait, AGAIN, first, 2 * (left - 1) + is_control)
                    elif not is_control:
                        direct_counts[first, 1] += 1
        elif kind == BEATS:
            one = first
        elif kind == TICKED:
            _push(times, kinds, firsts, seconds, size, t + TICK, TICKED, 0, 0)
            now_bin = int((t - begin) / TICK + 0.5)
            if not begun and t > -TICK / 2:
                begun = True
                for k in range(nk):
                    collapsed[k] = collapsed[k] or dependencies[k].collapsed == 1
            for f in range(nf):
                fleet = fleets[f]
                if t >= max(0.0, fleet.launches_from) - 1e-9:
                    minutes = t - max(0.0, fleet.launches_from)
                    allowed = math.floor(fleet.burst + fleet.per_min * minutes + 1e-9)
                    while launched[f] < allowed and fleet.running + launched[f] < fleet.needed - 1e-9:
                        boots[f, int(launched[f])] = t + fleet.delay
                        launched[f] += 1
                up = fleet.running
                for place in range(int(launched[f])):
                    if boots[f, place] <= t + 1e-9:
                        up += 1
                in_service[f] = min(up, fleet.needed)
            for k in range(nk):
                dep = dependencies[k]
                capacity = dep.capacity * _step_value(course_first, course_starts, course_values, dep.course, t)
                start = begin if dep.begins < 0 else 0.0
                if t < start + TICK:
                    continue
                span = min(WINDOW_TICKS, int((t - start) / TICK + 0.5))
                seen = 0
                for place in range(now_bin - span, now_bin):
                    seen += bins[k, place]
                bears = capacity * span * TICK * 1.003 + 2.0
                fits = seen <= bears
                if span == WINDOW_TICKS and t >= 0:
                    most_attempts[k] = max(most_attempts[k], seen / (span * TICK))
                if collapsed[k]:
                    down_min[k] += TICK
                    # What it cannot bear stands in its own line, at most what a time-out brings, and is worked off later.
                    line[k] = max(0.0, line[k] + bins[k, now_bin - 1] - capacity * TICK)
                    in_flight = 0
                    for place in range(max(0, now_bin - span - int(dep.timeout_min / TICK + 0.5)), now_bin - span):
                        in_flight += bins[k, place]
                    if not fits:
                        line[k] = min(line[k], in_flight)
                    if fits and span == WINDOW_TICKS and line[k] <= 0 and t >= since[k] + WINDOW_TICKS * TICK - 1e-9:
                        collapsed[k] = False
                        bucket[k], filled[k] = 0.0, t
                elif dep.collapses and not fits and span == WINDOW_TICKS:
                    collapsed[k], line[k], since[k] = True, 0.0, t
                    bucket[k], filled[k] = 0.0, t
            for s in range(ns):
                serving[s] = 0.0
                for place in range(int(set_to[s])):
                    if ready_at[s, place] <= t + 1e-9 or ready_at[s, place] == np.inf:
                        serving[s] += 1
            for q in range(nq):
                queue = queues[q]
                open_now = t >= queue.begins - 1e-9
                rate = queue.rate * _step_value(course_first, course_starts, course_values, queue.course, t)
                if queue.fleet >= 0:
                    rate *= min(1.0, in_service[queue.fleet] / fleets[queue.fleet].needed)
                rate = min(rate, queue.reserved, queue.consumers)
                if queue.scaler >= 0:
                    rate = min(rate, serving[queue.scaler] * queue.each)
                if queue.item_min > 0:
                    running = queue.cap
                    if t >= -1e-9:
                        running = min(running, queue.ramp_ceiling, queue.ramp_start + queue.ramp_per_min * t)
                    rate = min(rate, running / queue.item_min)
                if not open_now and not queue.receives_in_outage:
                    rate = queue.served_in_outage
                for item in range(queue.first_lane, queue.first_lane + queue.lanes):
                    pace[item] = rate / queue.lanes
                    workers[item] = rate * queue.item_min / queue.lanes
                    if queue.spread_min > 0 and open_now:
                        workers[item] *= min(1.0, (t - queue.begins) / queue.spread_min)
                    if queue.scaler >= 0 and queue.item_min > 0:
                        worked[queue.scaler] += busy[item] + part_busy[item] * (workers[item] % 1.0)
                        offered_work[queue.scaler] += workers[item]
                    # What grew too old leaves at the old end.
                    for place in range(lanes[item].first_line, lanes[item].first_line + lanes[item].lines):
                        while head[place] >= 0 and t - arrived[head[place]] > queue.max_age:
                            gone = head[place]
                            head[place] = after[gone]
                            if head[place] >= 0:
                                before[head[place]] = -1
                            else:
                                tail[place] = -1
                            after[gone], before[gone] = -1, -1
                            length[place] -= 1
                            waiting[item] -= 1
                            counts[q, 2] += 1
                if abs(t) < TICK / 2:
                    for item in range(queue.first_lane, queue.first_lane + queue.lanes):
                        at_restore[q] += waiting[item] + limbo[item]
                if queue.scaler >= 0 and t >= -1e-9:
                    s = queue.scaler
                    scaler = scalers[s]
                    if t >= (synced[s] + 1) * scaler.sync - 1e-9:
                        metric = 0.0
                        oldest = t
                        for item in range(queue.first_lane, queue.first_lane + queue.lanes):
                            metric += waiting[item] + limbo[item]
                            if queue.item_min == 0:
                                worked[s] += beats_all[item] - beats_idle[item]
                                offered_work[s] += beats_all[item]
                                beats_all[item], beats_idle[item] = 0.0, 0.0
                        for place in range(queue.first_line, queue.first_line + queue.lines):
                            if head[place] >= 0:
                                oldest = min(oldest, arrived[head[place]])
                        if scaler.metric == 1:
                            metric = t - oldest
                        elif scaler.metric == 2:
                            metric = worked[s] / offered_work[s] if offered_work[s] > 0 else 1.0
                        worked[s], offered_work[s] = 0.0, 0.0
                        wish = _wanted(scaler, set_to[s], serving[s], metric)
                        wish = min(max(wish, scaler.least), scaler.most)
                        now = _decide(
                            scaler,
                            t,
                            set_to[s],
                            wish,
                            wish_times[s],
                            wishes[s],
                            changed_at[s],
                            changed_by[s],
                            history[s],
                        )
                        for place in range(int(set_to[s]), int(now)):
                            ready_at[s, place] = t + scaler.start + (scaler.node if place >= scaler.fits else 0.0)
                        for place in range(int(now), int(set_to[s])):
                            ready_at[s, place] = np.inf
                        set_to[s] = now
                        replicas_seen[s, synced[s]] = now
                        synced[s] += 1
            if t > 0:
                still = True
                for item in range(nl):
                    stands = waiting[item] + limbo[item]
                    if stands <= 1:
                        if np.isnan(lane_drained[item]):
                            lane_drained[item] = t - TICK / 2
                    else:
                        rate = profile_rates[profile_first[lanes[item].queue]]
                        if not np.isnan(lane_drained[item]) and stands > 20 + 0.1 * rate:
                            lane_drained[item] = np.nan
                    still = still and not np.isnan(lane_drained[item])
                for k in range(nk):
                    still = still and not collapsed[k]
                if not still:
                    quiet_since = t
                elif quiet_since == np.inf:
                    quiet_since = 0.0
                if still and t - quiet_since > quiet_min:
                    break
            elif abs(t) < TICK / 2:
                for item in range(nl):
                    if waiting[item] + limbo[item] <= 1:
                        lane_drained[item] = 0.0
        if fail_item or kind == VISIBLE:
            # Back to its line, at the end from which it is taken next.
            q = queues[lanes[lane_of[second]].queue]
            item, place = lane_of[second], line_of[second]
            back = True
            if fail_item:
                failing[second] = False
                receives[second] += 1
                if receives[second] >= q.max_receives:
                    counts[lanes[item].queue, 3] += 1
                    limbo[item] -= 1
                    back = False
                elif q.redelivery_min > 0 and (q.max_receives < np.inf or q.receives_in_outage):
                    _push(times, kinds, firsts, seconds, size, t + q.redelivery_min, VISIBLE, 0, second)
                    back = False
            if back:
                limbo[item] -= 1
                waiting[item] += 1
                length[place] += 1
                if q.lifo and t >= 0:
                    before[second], after[second] = tail[place], -1
                    if tail[place] >= 0:
                        after[tail[place]] = second
                    else:
                        head[place] = second
                    tail[place] = second
                else:
                    after[second], before[second] = head[place], -1
                    if head[place] >= 0:
                        before[head[place]] = second
                    else:
                        tail[place] = second
                    head[place] = second
        if kind == FREE:
            # A connection is free: the first that waits for one takes it.
            q = lanes[lane_of[second]].queue
            connections[q] += 1
            if pool_head[q] >= 0:
                call_item = pool_head[q]
                pool_head[q] = after[call_item]
                after[call_item] = -1
                if pool_head[q] < 0:
                    pool_tail[q] = -1
                connections[q] -= 1
                _push(times, kinds, firsts, seconds, size, t + queues[q].hold_min, FREE, 0, call_item)
        low, high = one, one + 1
        if one < 0:
            low, high = 0, 0
            if kind == TICKED:
                low, high = 0, nl
        for item in range(low, high):
            q = queues[lanes[item].queue]
            beat = kind == BEATS
            if q.item_min == 0 and not beat:
                continue
            if beat:
                if pace[item] <= 0:
                    _push(times, kinds, firsts, seconds, size, t + TICK, BEATS, item, 0)
                    continue
                # A beat that finds nothing comes soon again, so that nothing waits for it.
                beats_all[item] += 1.0
            took_one = False
            while True:
                is_part = False
                if not beat:
                    whole = math.floor(workers[item] + 1e-9)
                    if busy[item] >= whole:
                        if part_busy[item] or workers[item] - whole < 0.02:
                            break
                        is_part = True
                # The next partition in turn that has something, and whose batches allow it.
                chosen, soonest = -1, np.inf
                for step in range(lanes[item].lines):
                    place = lanes[item].first_line + (turn[item] + step) % lanes[item].lines
                    if head[place] >= 0:
                        if gate[place] <= t + 1e-12:
                            chosen = place
                            break
                        soonest = min(soonest, gate[place])
                if chosen < 0:
                    if soonest < woken[item] and soonest < np.inf and not beat:
                        woken[item] = soonest
                        _push(times, kinds, firsts, seconds, size, soonest, WAKES, item, 0)
                    break
                turn[item] = (chosen - lanes[item].first_line + 1) % lanes[item].lines
                gate[chosen] = max(gate[chosen] + q.gate_min, t - BATCH * q.gate_min)
                taken = head[chosen]
                if q.lifo and t >= 0:
                    taken = tail[chosen]
                    tail[chosen] = before[taken]
                    if tail[chosen] >= 0:
                        after[tail[chosen]] = -1
                    else:
                        head[chosen] = -1
                else:
                    head[chosen] = after[taken]
                    if head[chosen] >= 0:
                        before[head[chosen]] = -1
                    else:
                        tail[chosen] = -1
                before[taken], after[taken] = -1, -1
                length[chosen] -= 1
                waiting[item] -= 1
                if t - arrived[taken] > q.max_age:
                    counts[lanes[item].queue, 2] += 1
                    continue
                took_one = True
                if not beat:
                    partly[taken] = is_part
                    if is_part:
                        part_busy[item] = True
                    else:
                        busy[item] += 1
                spent[taken] = 0.0
                tries[taken], at_call[taken], answered[taken], left_of_call[taken] = 0, 0, 0, 0
                began[taken] = workers[item] - math.floor(workers[item] + 1e-9) if is_part else 1.0
                if connections[lanes[item].queue] < np.inf:
                    if connections[lanes[item].queue] < 1:
                        if pool_tail[lanes[item].queue] >= 0:
                            after[pool_tail[lanes[item].queue]] = taken
                        else:
                            pool_head[lanes[item].queue] = taken
                        pool_tail[lanes[item].queue] = taken
                        continue
                    connections[lanes[item].queue] -= 1
                    _push(times, kinds, firsts, seconds, size, t + q.hold_min, FREE, 0, taken)
                # Its calls are an event of their own, at once.
                _push(times, kinds, firsts, seconds, size, t, TRIES, 0, taken)
                if beat:
                    break
            if beat:
                beats_idle[item] += 0.0 if took_one else 1.0
                wait = 2.0 * np.random.random() if q.irregular else 1.0
                _push(times, kinds, firsts, seconds, size, t + wait / pace[item], BEATS, item, 0)
        if call_item >= 0:
            # Attempts of one item: in order, or at all its dependencies at once.
            item = call_item
            q = queues[lanes[lane_of[item]].queue]
            number = lanes[lane_of[item]].queue
            tries[item] += 1
            in_outage = t < q.begins and q.receives_in_outage
            ok = not in_outage
            blocked = -1
            slow = in_outage
            place = q.first_call + at_call[item]
            dark = t < q.begins
            while ok and not dark and place < q.first_call + q.calls:
                bit = 1 << (place - q.first_call)
                if answered[item] & bit:
                    place += 1
                    continue
                if left_of_call[item] == 0:
                    owed_calls[place] += calls_per_item[place]
                    left_of_call[item] = int(owed_calls[place] + 1e-9)
                    owed_calls[place] -= left_of_call[item]
                d = calls_to[place]
                dep = dependencies[d]
                good = True
                while good and left_of_call[item] > 0:
                    bins[d, int((t - begin) / TICK)] += 1
                    course = _step_value(course_first, course_starts, course_values, dep.course, t)
                    flow = (
                        dep.capacity * course * dep.goodput
                        if collapsed[d]
                        else min(dep.throttle, INF if dep.collapses else dep.capacity * course)
                    )
                    good = not collapsed[d] and flow == np.inf
                    if not good and (tries[item] == 1 or not collapsed[d]):
                        most = max(2.0, flow * SOON)
                        bucket[d] = min(most, bucket[d] + flow * (t - filled[d]))
                        filled[d] = t
                        if bucket[d] >= 1.0 + (most / 4 if collapsed[d] else 0.0):
                            bucket[d] -= 1.0
                            good = True
                    if good:
                        left_of_call[item] -= 1
                        if not collapsed[d]:
                            tokens[q.retries] = min(
                                pools[q.retries].tokens, tokens[q.retries] + pools[q.retries].refill
                            )
                if good:
                    answered[item] |= bit
                    if not q.fan_out:
                        at_call[item] = place - q.first_call + 1
                        if place + 1 < q.first_call + q.calls:
                            tries[item] = 1
                else:
                    blocked = d
                    slow = slow or collapsed[d]
                    if not q.fan_out:
                        break
                place += 1
            if in_outage or blocked >= 0:
                # It comes again until its attempts are spent.
                if not failing[item]:
                    failing[item] = True
                    limbo[lane_of[item]] += 1
                    quota[item] = 0
                if quota[item] == 0:
                    each = q.attempts if tokens[q.retries] >= 1 else min(q.attempts, pools[q.retries].sustained)
                    owed_attempts[number] += each
                    quota[item] = max(1, int(owed_attempts[number] + 1e-9))
                    owed_attempts[number] -= quota[item]
                gap = SOON * np.random.random() / quota[item]
                if q.item_min > 0:
                    # A call that is rejected comes back at once, one that is not answered takes the time-out.
                    gap = q.backoff_min / quota[item] + (q.timeout_min if slow else 0.0)
                    # A moment between attempts, within the time of the item.
                    moment = min(SOON, q.item_min / quota[item]) * np.random.random()
                    spent[item] += moment
                    gap += moment
                if tries[item] < quota[item]:
                    tokens[q.retries] = max(0.0, tokens[q.retries] - 1.0)
                    _push(times, kinds, firsts, seconds, size, t + gap, TRIES, 0, item)
                else:
                    quota[item] = 0
                    if q.item_min > 0:
                        rest = (0.75 + 0.5 * np.random.random()) * q.item_min / began[item] - spent[item]
                        _push(times, kinds, firsts, seconds, size, t + gap + max(0.0, rest), ENDS, 0, item)
                    else:
                        # Nobody holds it: it is back in line at once.
                        busy[lane_of[item]] += 1
                        _push(times, kinds, firsts, seconds, size, t + 1e-9, ENDS, 0, item)
            else:
                if failing[item]:
                    failing[item] = False
                    limbo[lane_of[item]] -= 1
                quota[item] = 0
                counts[number, 1] += 1
                if q.item_min > 0:
                    rest = (0.75 + 0.5 * np.random.random()) * q.item_min / began[item] - spent[item]
                    _push(times, kinds, firsts, seconds, size, t + max(0.0, rest), ENDS, 0, item)
    for item in range(nl):
        q = lanes[item].queue
        if np.isnan(lane_drained[item]) or np.isnan(drained[q]):
            drained[q] = np.nan
        else:
            drained[q] = max(drained[q], lane_drained[item])
        counts[q, 4] += waiting[item] + limbo[item]
    return t


def _scaler_row(scaler, scale=1.0):
    metric = {"depth": 0, "age": 1, "utilisation": 2}[scaler.metric]
    return _kind(
        SCALER, target=scaler.target * (scale if metric == 0 else 1.0), each=scaler.rate_each_per_min * scale,
        least=scaler.least, most=scaler.most, at_restore=scaler.at_restore, sync=scaler.sync_min,
        tolerance=scaler.tolerance, up_replicas=scaler.up_replicas, up_percent=scaler.up_percent,
        up_period=scaler.up_period_min, up_window=scaler.up_window_min,
        down_replicas=min(scaler.down_replicas, 1e9), down_percent=scaler.down_percent,
        down_period=scaler.down_period_min, down_window=scaler.down_window_min, start=scaler.start_min,
        fits=INF if scaler.fits_on_nodes is None else scaler.fits_on_nodes, node=scaler.node_min, metric=metric,
    )  # fmt: skip


def replicas_of(scaler, metrics):
    """The replicas that an autoscaler sets at each sync from a metric given for each."""
    row, now, serves_at, course = _scaler_row(scaler)[0], float(scaler.at_restore), {}, []
    room = len(metrics) + 2
    wish_times, wishes, changed_at, changed_by = np.zeros(room), np.zeros(room), np.zeros(room), np.zeros(room)
    counts = np.array([1, 0])
    wishes[0] = now
    for place, metric in enumerate(metrics):
        t = place * scaler.sync_min
        ready = sum(serves_at.get(number, 0.0) <= t + 1e-9 for number in range(int(now)))
        wish = min(max(_wanted(row, now, float(ready), float(metric)), row["least"]), row["most"])
        following = _decide(row, t, now, wish, wish_times, wishes, changed_at, changed_by, counts)
        for number in range(int(now), int(following)):
            beyond = scaler.fits_on_nodes is not None and number >= scaler.fits_on_nodes
            serves_at[number] = t + scaler.start_min + (scaler.node_min if beyond else 0.0)
        now = following
        course.append(int(now))
    return course


@dataclass
class Seen:
    """What was seen, by queue, dependency and autoscaler; minutes from the restore."""

    drained: np.ndarray
    at_restore: np.ndarray
    arrived: np.ndarray
    served: np.ndarray
    expired: np.ndarray
    dead: np.ndarray
    waiting: np.ndarray
    down_min: np.ndarray
    most_attempts: np.ndarray
    direct_served: np.ndarray
    direct_failed: np.ndarray
    replicas: list[np.ndarray]
    end: float


@dataclass
class _Rows:
    """Courses and profiles as one array of steps each."""

    first: list[int] = field(default_factory=lambda: [0])
    starts: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, starts, values) -> int:
        self.starts += [float(start) for start in starts]
        self.values += [float(value) for value in values]
        self.first.append(len(self.starts))
        return len(self.first) - 2

    def arrays(self):
        return np.array(self.first), np.array(self.starts, np.float64), np.array(self.values, np.float64)


def _steps(profile, begin, until):
    """Steps of arrivals from ``begin`` on, cycles written out."""
    edges, rates = [float(edge) for edge in profile.edges_min], [float(rate) for rate in profile.rates_per_min]
    starts, values, offset = [], [], 0.0
    while True:
        starts += [begin + offset + edge for edge in edges[: len(rates)]]
        values += rates
        offset += edges[-1]
        if profile.cycle_min is None or begin + offset > until:
            return starts, values


def _total(starts, values, until):
    ends = [*starts[1:], until]
    return sum(
        value * max(0.0, min(end, until) - start) for start, end, value in zip(starts, ends, values, strict=True)
    )


def _kind(dtype, **values):
    row = np.zeros(1, dtype)
    for name, value in values.items():
        row[name] = value
    return row


def simulate(system, until, *, scale=1.0, hold_s=None, quiet_min=5.0, seed=1):
    """Run a system item by item until ``until``, or until all has been quiet for ``quiet_min``.

    Parameters:
        system: what recovers, with the fields that the coupled model names.
        until: minutes after the restore.
        scale: factor on every rate, so that one item stands for 1 / ``scale``; counts are given unscaled.
        hold_s: seconds for which an item holds a connection of its pool; half of its item time by default.
    """
    begin = -float(system.outage_min)
    profiles, courses = _Rows(), _Rows()
    queues, lanes, shares, calls_to, per_item, pools, scalers, items = [], [], [], [], [], [], [], 0.0
    dependencies = []
    early = [item.course is not None and item.course.starts_min[0] < 0 for item in system.dependencies]

    def pool_of(tokens, sustained, refill):
        pools.append(_kind(POOL, tokens=tokens * scale, sustained=sustained, refill=refill))
        return len(pools) - 1

    for item in system.queues:
        starts, values = _steps(item.load.arrivals, begin - (system.lead_min - system.outage_min), until)
        profiles.add(starts, [value * scale for value in values])
        items += (_total(starts, values, until) + item.load.backlog_before) * scale
    of_dependency = [
        pool_of(item.retry_tokens, item.sustained_attempts, item.refill_per_success) for item in system.dependencies
    ]
    for item in system.dependencies:
        profile = -1
        if item.direct is not None:
            starts, values = _steps(item.direct, begin - (system.lead_min - system.outage_min), until)
            profile = profiles.add(starts, [value * scale for value in values])
        dependencies.append(
            _kind(
                DEPENDENCY,
                capacity=item.capacity_per_min * scale,
                control=item.control_per_min * scale,
                fresh=0.0 if item.direct is not None else item.fresh_per_min * scale,
                surge=item.surge_per_min * scale,
                surge_decay=item.surge_decay_min,
                attempts=item.attempts_failing,
                goodput=item.goodput_share,
                throttle=item.throttle_per_min * scale,
                timeout_min=item.timeout_min,
                control_backlog=item.control_backlog * scale,
                catch_up=item.control_catch_up_per_min * scale,
                begins=begin if any(early) else 0.0,
                collapsed=item.collapsed_at_restore,
                collapses=item.collapses,
                retries=of_dependency[len(dependencies)],
                course=-1 if item.course is None else courses.add(item.course.starts_min, item.course.values),
                profile=profile,
            )
        )
    for item in system.queues:
        load, parts = item.load, item.partitions
        arrival_shares = (1.0,) if parts is None else parts.arrival_shares
        sets = (
            len(arrival_shares)
            if parts is None or parts.consumers is None
            else min(parts.consumers, len(arrival_shares))
        )
        first_lane, first_line = len(lanes), len(shares)
        size, more = divmod(len(arrival_shares), sets)
        for place in range(sets):
            count = size + (place < more)
            lanes.append(_kind(LANE, queue=len(queues), first_line=len(shares), lines=count))
            shares += [1.0] * count
        shares[first_line:] = arrival_shares
        calls = item.calls or (() if item.dependency is None else ((item.dependency, 1.0),))
        calls = [(call.dependency, call.per_item) if hasattr(call, "per_item") else call for call in calls]
        first_call = len(calls_to)
        calls_to += [call[0] for call in calls]
        per_item += [call[1] for call in calls]
        if item.retries is not None:
            retries = pool_of(item.retries.tokens, item.retries.sustained, item.retries.refill_per_success)
        else:
            retries = of_dependency[calls[0][0]] if calls else pool_of(INF, 1.0, 0.0)
        minutes = 0.0 if load.item_time_s is None else load.item_time_s / 60
        ramp, scaler = load.ramp, item.autoscaler
        hold = minutes / 2 if hold_s is None else hold_s / 60
        connections = INF
        consumers = item.consumers_per_min
        if item.pool_per_min < INF:
            if minutes:
                connections = max(1.0, round(item.pool_per_min * scale * hold))
                hold = connections / (item.pool_per_min * scale)
            else:
                consumers = min(consumers, item.pool_per_min)
        which = -1
        if scaler is not None:
            which = len(scalers)
            scalers.append(_scaler_row(scaler, scale))
        queues.append(
            _kind(
                QUEUE, rate=load.service_rate_per_min * scale, item_min=minutes,
                cap=INF if load.cap_concurrency is None else load.cap_concurrency * scale,
                ramp_start=INF if ramp is None else ramp.start * scale,
                ramp_per_min=0.0 if ramp is None else ramp.per_min * scale,
                ramp_ceiling=INF if ramp is None else ramp.ceiling * scale,
                reserved=item.reserved_per_min * scale, consumers=consumers * scale, connections=connections,
                hold_min=hold, attempts=item.attempts_failing, timeout_min=item.timeout_s / 60,
                backoff_min=item.backoff_s / 60, max_receives=INF if item.max_receives is None else item.max_receives,
                redelivery_min=item.redelivery_min,
                max_age=min(INF if age is None else age for age in (load.max_age_min, load.retention_min)),
                served_in_outage=load.served_in_outage_per_min * scale,
                spread_min=minutes if item.start_spread_min is None else item.start_spread_min,
                each=0.0 if scaler is None else scaler.rate_each_per_min * scale,
                backlog_before=load.backlog_before * scale,
                begins=begin if any(early) else 0.0,
                first_rate=float(load.arrivals.rates_per_min[0]) * scale,
                gate_min=0.0 if parts is None else 1.0 / (parts.rate_each_per_min * scale),
                first_lane=first_lane, lanes=sets, first_line=first_line, lines=len(arrival_shares), first_call=first_call,
                calls=len(calls), fan_out=item.fan_out, retries=retries, fleet=-1 if item.fleet is None else item.fleet,
                scaler=which,
                course=-1 if item.course is None else courses.add(item.course.starts_min, item.course.values),
                # Regular beats would meet the tokens of a dependency that rejects always at the same moment.
                irregular=any(
                    system.dependencies[call[0]].throttle_per_min < INF or not system.dependencies[call[0]].collapses
                    for call in calls
                ),
                lifo=load.order == "lifo", receives_in_outage=item.receives_in_outage,
                rejects_in_outage=item.rejects_in_outage,
            )
        )  # fmt: skip
    fleets = [
        _kind(
            FLEET, running=item.running, needed=item.needed, burst=item.launch_burst, per_min=item.launch_per_min,
            delay=item.start_delay_min, launches_from=item.launches_from_min,
        )
        for item in system.fleets
    ]  # fmt: skip

    def rows(dtype, made):
        return np.concatenate(made) if made else np.zeros(0, dtype)

    nq, nk, syncs = len(queues), len(dependencies), int(until / 0.05) + 10
    drained, at_restore, counts = np.zeros(nq), np.zeros(nq), np.zeros((nq, 5))
    down, most, direct = np.zeros(nk), np.zeros(nk), np.zeros((nk, 2))
    replicas = np.full((len(scalers), syncs if scalers else 1), np.nan)
    room = int(items * 1.01) + 1000
    end = _run(
        begin, float(until), quiet_min, rows(QUEUE, queues), rows(LANE, lanes), np.array(shares), np.array(calls_to, np.int64),
        np.array(per_item, np.float64), rows(DEPENDENCY, dependencies), rows(POOL, pools), rows(FLEET, fleets),
        rows(SCALER, scalers), *profiles.arrays(), *courses.arrays(), room, min(2 * room + 20_000, 4_000_000), seed, drained,
        at_restore, counts, down, most, direct, replicas,
    )  # fmt: skip
    return Seen(
        drained, at_restore / scale, *(counts[:, place] / scale for place in range(5)), down, most / scale,
        direct[:, 0] / scale, direct[:, 1] / scale, [row[~np.isnan(row)] for row in replicas], end,
    )  # fmt: skip
