"""The coupled recovery, over any number of draws: plain loops that a compiler turns into machine code.

One call simulates every draw; :mod:`afterload.model.coupled` is its face, :mod:`afterload.model.coupled_records` has what it
reads and keeps. Times are minutes from the restore, which is 0, and rates are items a minute.

A queue is followed in lanes, one for each set of partitions that differs. A lane has its cumulative arrivals A and its departures
D; an age limit L is a floor under D, A(t - L). That keeps its state to a few numbers, whatever the arrival rate is. Arrivals and
direct traffic change from step to step. Within a step every other change of a rate (a queue runs empty, a ramp ends, a quota runs
out, an instance starts, an autoscaler looks) cuts the step at the moment when it happens, so that a stretch between two cuts has
constant rates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["Fixed", "Moving", "cap_rate", "simulate"]

NORMAL = 8  # the step after the seventh: nothing is held any more
NO_LIMIT = 1e300
TINY = 1e-9
# More cuts of a step than this are left out: what is left of the step is one stretch then.
MOST_CUTS = 64
# Arrival rates closer than this are the same: they are differences of sums, and differ by rounding.
SAME_RATE = 1e-10
# Instances that start in a step are told one by one up to this number.
FEW = 4.0
# What an autoscaler remembers.
RING = 256
# Places of BOUNDS.
SERVICE, FLEET, COURSE, CAP, RESERVED, CONSUMERS, POOL, SCALER, BATCHES, RAMP, ADMISSION, DEPENDENCY = range(1, 13)

# Only ``simulate`` makes arrays and is kept on disk. What it calls need not count references to them, which would take half of
# the time, and is inlined: the tuples of arrays cost more to pass than to use.
compiled = njit(error_model="numpy", _nrt=False, forceinline=True)  # type: ignore[call-overload]


class Fixed(NamedTuple):
    """What a draw does not change."""

    step: float
    t0: float
    inv: float
    restore_at: int
    begin_at: int
    trigger: float
    place: float  # of the trigger in the base arrivals, in cells beside that in the grid
    last_course: float
    bases: np.ndarray
    at_trigger: np.ndarray
    first_rates: np.ndarray
    steady: np.ndarray
    direct: np.ndarray
    surge: np.ndarray
    lanes: np.ndarray
    first_lane: np.ndarray
    calls: np.ndarray
    per_item: np.ndarray
    course_first: np.ndarray
    course_starts: np.ndarray
    course_values: np.ndarray
    queues: np.ndarray
    dependencies: np.ndarray
    pools: np.ndarray
    fleets: np.ndarray
    scalers: np.ndarray
    admission: np.ndarray
    holds: np.ndarray


class Moving(NamedTuple):
    """What it does change."""

    curves: np.ndarray
    side_curves: np.ndarray
    stack: np.ndarray
    asked: np.ndarray
    jump: np.ndarray
    when: np.ndarray
    pace: np.ndarray
    lanes: np.ndarray
    queues: np.ndarray
    dependencies: np.ndarray
    pools: np.ndarray
    fleets: np.ndarray
    scalers: np.ndarray
    starts: np.ndarray
    wishes: np.ndarray
    moves: np.ndarray
    plan: np.ndarray
    seen: np.ndarray
    mark_q: np.ndarray
    mark_k: np.ndarray
    mark_p: np.ndarray
    mark_f: np.ndarray
    results: np.ndarray
    bounds: np.ndarray
    depend: np.ndarray
    lowest: np.ndarray
    begun: np.ndarray
    overall: np.ndarray


@compiled
def value_at(curves, row, place, early):
    """Cumulative arrivals at a place of the grid, linear between its points; ``early`` a step before it begins."""
    if place <= 0.0:
        return max(0.0, curves[row, 0] + place * early)
    low = int(place)
    if low >= curves.shape[1] - 1:
        return curves[row, curves.shape[1] - 1]
    return curves[row, low] + (place - low) * (curves[row, low + 1] - curves[row, low])


@compiled
def time_to_clear(work, gain, slope):
    """Minutes until a gain that grows by ``slope`` a minute adds up to ``work``."""
    if slope <= 0.0:
        return work / gain if gain > 0.0 else np.inf
    root = np.sqrt(gain * gain + 2.0 * slope * work)
    if gain < 0.0:
        return (root - gain) / slope
    return 2.0 * work / (gain + root) if work > 0.0 else 0.0


@compiled
def course_value(p, course, now):
    """The value of a course; 1 before its first step, and for none."""
    value = 1.0
    if course >= 0:
        for place in range(p.course_first[course], p.course_first[course + 1]):
            if p.course_starts[place] > now + TINY:
                break
            value = p.course_values[place]
    return value


@compiled
def course_next(p, course, now):
    """When a course changes next; infinite if it does not."""
    if course >= 0:
        for place in range(p.course_first[course], p.course_first[course + 1]):
            if p.course_starts[place] > now + TINY:
                return p.course_starts[place]
    return np.inf


# Arrivals, and the outage.


@compiled
def fill_curve(p, s, line):
    """Cumulative arrivals of a lane on the grid. What waited at the trigger came before it at the first rate."""
    lane = p.lanes[line]
    q, curves = p.queues[lane.queue], s.curves
    points = curves.shape[1]
    share = lane.arrival_share
    first = min(points, max(0, int(np.ceil((p.trigger - p.t0) * p.inv - TINY))))
    rate = q.arrivals * p.first_rates[lane.queue]
    for i in range(first):
        before = q.backlog_before - rate * (p.trigger - p.t0 - i * p.step)
        curves[line, i] = share * max(0.0, before) if rate > 0.0 else 0.0
    shift = q.backlog_before - q.arrivals * p.at_trigger[lane.queue]
    exact = p.place == np.floor(p.place)
    offset = int(p.place)
    for i in range(first, points):
        base = p.bases[lane.queue, i + offset] if exact else value_at(p.bases, lane.queue, i + p.place, 0.0)
        curves[line, i] = share * (shift + q.arrivals * base)
    if q.rejects_in_outage:
        refused = curves[line, p.restore_at] - share * q.backlog_before
        for i in range(first, points):
            curves[line, i] = max(share * q.backlog_before, curves[line, i] - refused)


@compiled
def waiting_in(w):
    """Items that wait in a lane, those set aside included."""
    return max(0.0, w.known - w.gone) + max(0.0, w.side_in - w.side_out)


@compiled
def failing_deliveries(q, rate):
    """Deliveries a minute of consumers whose every call fails, given what they would do if none did."""
    if q.item_min <= 0.0:
        return rate
    return rate * q.item_min / (q.item_min + q.attempts_failing * q.timeout_min + q.backoff_min)


@compiled
def remove_too_old(p, s, line):
    """Some of what waited at the trigger may have been too old already. It had come at the rate of the trigger."""
    lane, w = p.lanes[line], s.lanes[line]
    q = p.queues[lane.queue]
    before = q.backlog_before * lane.arrival_share
    limit, kind = age_limit(q, False)
    if limit < NO_LIMIT and before > 0.0:
        w.gone = max(0.0, before - limit * w.early * p.inv)
        count_removed(s.results[lane.queue], kind, w.gone)


@compiled
def outage(p, s, line, i):
    """Arrivals, partial service, dead letters and expiry in one step up to where consumers run again."""
    lane, w = p.lanes[line], s.lanes[line]
    q, r = p.queues[lane.queue], s.results[lane.queue]
    now = p.t0 + (i + 1) * p.step
    known = s.curves[line, i + 1]
    served = q.served_in_outage_per_min * lane.service_share
    after = min(w.gone + served * min(p.step, now - p.trigger), known)
    r.served += after - w.gone
    # An item is dead-lettered when its last delivery fails.
    dt = min(p.step, now - p.trigger - q.max_receives * q.redelivery_min)
    if q.receives_in_outage and dt > 0.0:
        deliveries = failing_deliveries(q, own_rate(q)) * lane.service_share
        dead = min(known - after, min(deliveries, (known - after) / q.redelivery_min) / q.max_receives * dt)
        r.dead_lettered += dead
        after += dead
    limit, kind = age_limit(q, False)
    if limit < NO_LIMIT:
        floor = value_at(s.curves, line, i + 1 - limit * p.inv, w.early)
        if floor > after:
            count_removed(r, kind, floor - after)
            after = floor
    w.known, w.gone = known, after


@compiled
def supersede(p, s, line):
    """At the restore, drop the superseded share of what waits, evenly over its ages."""
    lane, w, curves = p.lanes[line], s.lanes[line], s.curves
    q, r = p.queues[lane.queue], s.results[lane.queue]
    waiting = curves[line, p.restore_at] - w.gone
    r.backlog_at_restore += waiting
    share = q.superseded_share
    if share > 0.0:
        r.superseded += share * waiting
        w.early *= 1.0 - share
        for i in range(p.restore_at):
            if curves[line, i] > w.gone:
                curves[line, i] -= share * (curves[line, i] - w.gone)
        for i in range(p.restore_at, curves.shape[1]):
            curves[line, i] -= share * waiting
    w.known = curves[line, p.restore_at]
    w.scale = TINY * (w.known + q.service_rate_per_min * lane.service_share)


# Ages, and work that is set aside.


@compiled
def age_limit(q, has_capacity):
    """The age limit that acts, and what it does: 0 expires, 1 loses, 2 discards. A deadline is looked at when a turn comes."""
    limit, kind = q.max_age_min, 0
    if q.retention_min < limit:
        limit, kind = q.retention_min, 1
    if has_capacity and q.deadline_min < limit:
        limit, kind = q.deadline_min, 2
    return limit, kind


@compiled
def count_removed(r, kind, items):
    """Count what an age limit removed."""
    if kind == 0:
        r.expired += items
    elif kind == 1:
        r.lost_to_retention += items
    else:
        r.discarded_past_deadline += items


@compiled
def aside_by(p, s, line, place, sideline, now):
    """Of the work set aside by the place ``now``, what had arrived by a place of the grid; ``sideline`` in steps."""
    w = s.lanes[line]
    crossed = place + sideline
    if crossed <= p.restore_at:
        return min(w.side_first, max(0.0, value_at(s.curves, line, place, w.early) - w.side_base))
    # What arrived by then and has not been set aside yet is not part of it, and what has been had all arrived by then.
    return value_at(s.side_curves, line, crossed, 0.0) if crossed < now else w.side_in


@compiled
def push(s, line, cell, items):
    """Put items that arrived in a cell of the grid on a stack. In a cell they lie evenly from its ``cut`` to its ``crest``."""
    w = s.lanes[line]
    if w.bottom > w.top:
        w.bottom, w.cut = cell, 0.0
    there = 0.0
    if cell == w.top:
        there = s.stack[line, cell] * (w.crest - (w.cut if cell == w.bottom else 0.0))
    for between in range(w.top + 1, cell):
        s.stack[line, between] = 0.0
    if w.top >= w.bottom and w.top < cell:
        s.stack[line, w.top] *= w.crest
    s.stack[line, cell] = (there + items) / (1.0 - w.cut if cell == w.bottom and w.cut < 1.0 else 1.0)
    w.top, w.crest = cell, 1.0


@compiled
def pop(s, line, items):
    """Take items from the new end of a stack."""
    w = s.lanes[line]
    while items > 0.0 and w.top >= w.bottom:
        there = s.stack[line, w.top] * (w.crest - (w.cut if w.top == w.bottom else 0.0))
        if there > items:
            w.crest -= items / s.stack[line, w.top]
            return
        items -= there
        w.top -= 1
        w.crest = 1.0


@compiled
def drop_old(s, line, edge):
    """Take what arrived before a place of the grid from the old end of a stack; gives how much that is."""
    w = s.lanes[line]
    gone = 0.0
    while w.bottom <= w.top and edge > w.bottom + w.cut:
        end = w.crest if w.bottom == w.top else 1.0
        until = min(end, edge - w.bottom)
        gone += s.stack[line, w.bottom] * max(0.0, until - w.cut)
        if until < end:
            w.cut = until
            break
        w.bottom += 1
        w.cut = 0.0
    return gone


@compiled
def set_aside(p, s, line, place, limit):
    """Move work that has become old to the second queue, unless an age limit removes it before it is that old."""
    w = s.lanes[line]
    q = p.queues[p.lanes[line].queue]
    if not (q.fresh_first and q.sideline_after_min < limit):
        return False
    edge = value_at(s.curves, line, place - q.sideline_after_min * p.inv, w.early)
    if edge > w.gone:
        if q.stack:
            first = w.gone
            cell = min(max(0, int(np.ceil(place - TINY)) - 1), s.stack.shape[1] - 1)
            for i in range(max(w.top + 1, 0 if w.side_in <= 0.0 else cell - 1), cell):
                last = min(edge, s.curves[line, i + 1])
                if last > first:
                    push(s, line, i, last - first)
                    first = last
            if edge > first:
                push(s, line, cell, edge - first)
        w.side_in += edge - w.gone
        w.gone = edge
    return True


@compiled
def discard(p, s, line, place, spare):
    """Discard what is past its deadline now that its turn has come, which takes no time."""
    lane, w = p.lanes[line], s.lanes[line]
    q, r = p.queues[lane.queue], s.results[lane.queue]
    limit, kind = age_limit(q, True)
    if kind != 2:
        return
    floor = value_at(s.curves, line, place - limit * p.inv, w.early)
    if floor > w.gone:
        r.discarded_past_deadline += floor - w.gone
        w.gone = floor
    if spare and w.side_in > w.side_out:
        if not q.stack:
            r.discarded_past_deadline += old_aside(p, s, line, place, limit)
        elif w.top + w.crest <= place - limit * p.inv + TINY:
            # The newest is too old, and so is all below it.
            drop_old(s, line, w.top + 1.0)
            r.discarded_past_deadline += w.side_in - w.side_out
            w.side_out = w.side_in


@compiled
def old_aside(p, s, line, place, limit):
    """Take what is older than a limit from what is set aside; gives how much that is."""
    w = s.lanes[line]
    q = p.queues[p.lanes[line].queue]
    if q.stack:
        gone = min(drop_old(s, line, place - limit * p.inv), w.side_in - w.side_out)
    else:
        edge = aside_by(p, s, line, place - limit * p.inv, q.sideline_after_min * p.inv, place)
        gone = max(0.0, edge - w.side_out)
    w.side_out += gone
    return gone


# Fleets.


@compiled
def launched_by(p, s, f, at):
    """Instances asked for by a time, and how many a minute more; and when that changes next."""
    cell = int(np.floor((at - p.t0) * p.inv + TINY))
    if cell < p.restore_at:
        return 0.0, 0.0, 0.0
    if cell >= s.asked.shape[1] - 1:
        return s.asked[f, s.asked.shape[1] - 1], 0.0, np.inf
    edge = p.t0 + (cell + 1) * p.step
    if at < s.when[f, cell] - TINY:
        return s.asked[f, cell], 0.0, min(edge, s.when[f, cell])
    level = s.asked[f, cell] + s.jump[f, cell] + s.pace[f, cell] * (at - s.when[f, cell])
    left = s.asked[f, cell + 1] - level
    if left <= TINY or s.pace[f, cell] <= 0.0:
        return s.asked[f, cell + 1], 0.0, edge
    return level, s.pace[f, cell], min(edge, at + left / s.pace[f, cell])


@compiled
def move_fleet(p, s, f, i, now, removing):
    """Removals and launches of one step of the grid; tells whether the fleet may serve more or less now."""
    fleet, g = p.fleets[f], s.fleets[f]
    if g.settled:
        return False
    step = p.step
    impaired = min(step, max(0.0, fleet.launches_from_min - now))
    if i == p.restore_at:
        s.asked[f, i] = 0.0
    s.asked[f, i + 1] = s.asked[f, i]
    s.jump[f, i] = s.pace[f, i] = 0.0
    s.when[f, i] = now
    started, _, _ = launched_by(p, s, f, now - fleet.start_delay_min)
    g.removed += g.removal * step
    serving = fleet.running - g.removed + started
    g.removal, g.since = 0.0, now
    if removing and fleet.automation_active:
        left = max(min(serving, fleet.removal_floor), serving - fleet.removal_per_min * impaired)
        g.removal = (serving - left) / step
        serving = left
    s.when[f, i] = now + impaired
    asked = 0.0
    if impaired < step:
        missing = max(0.0, fleet.needed - serving - (s.asked[f, i] - started))
        s.jump[f, i] = min(missing, min(g.bucket, g.requests))
        available = g.bucket + fleet.launch_per_min * (step - impaired)
        requested = g.requests + fleet.request_per_min * (step - impaired)
        most = min(available, requested)
        asked = min(missing, most)
        s.pace[f, i] = (most - s.jump[f, i]) / (step - impaired) if most < NO_LIMIT else 0.0
        g.bucket = min(fleet.launch_burst, available - asked)
        g.requests = min(fleet.request_burst, requested - asked)
    s.asked[f, i + 1] = s.asked[f, i] + asked
    is_whole = serving >= fleet.needed * (1.0 - TINY) and s.asked[f, i + 1] - started <= TINY
    if impaired <= 0.0 and is_whole and g.full:
        g.settled = True
    return True


@compiled
def serve_with(p, s, f, now, cell_end):
    """What share of a fleet serves from now on, and until when."""
    fleet, g = p.fleets[f], s.fleets[f]
    level, pace, until = launched_by(p, s, f, now - fleet.start_delay_min)
    until = min(cell_end, until + fleet.start_delay_min)
    whole = np.floor(level + 1e-6)
    end = whole
    if pace > 0.0:
        if pace * p.step <= FEW:
            until = min(until, now + max((whole + 1.0 - level) / pace, 1e-6 * p.step))
        else:
            end = level + pace * (until - now)
            whole = 0.5 * (level + end)
    kept = fleet.running - g.removed + g.removal * g.since
    serving = max(0.0, kept - g.removal * 0.5 * (now + until) + whole)
    g.serving = max(0.0, kept - g.removal * until + end)
    g.share = min(1.0, serving / fleet.needed) if fleet.needed > 0.0 else 1.0
    g.full = serving >= fleet.needed - 0.5
    return until


# Autoscalers.


@compiled
def start_replicas(p, s, u, now):
    """Let the replicas serve whose time has come; gives when the next one does."""
    c = s.scalers[u]
    following, kept = np.inf, 0
    for place in range(c.pending):
        if s.starts[u, place, 0] <= now + TINY:
            c.serving += s.starts[u, place, 1]
        else:
            s.starts[u, kept, 0], s.starts[u, kept, 1] = s.starts[u, place, 0], s.starts[u, place, 1]
            following = min(following, s.starts[u, kept, 0])
            kept += 1
    c.pending = kept
    return following


@compiled
def changed_in(s, u, since):
    """Replicas added and removed after a time."""
    added, taken = 0.0, 0.0
    c = s.scalers[u]
    for place in range(max(0, c.moves - RING), c.moves):
        if s.moves[u, place % RING, 0] > since + TINY:
            count = s.moves[u, place % RING, 1]
            if count > 0.0:
                added += count
            else:
                taken -= count
    return added, taken


@compiled
def wish(p, s, u, age):
    """Replicas that the metric asks for now."""
    a, c = p.scalers[u], s.scalers[u]
    o = s.queues[u]
    if c.wanted <= 0.0:
        return 0.0
    if a.metric == 0:
        ratio = o.waiting / (a.target * c.wanted)
    elif a.metric == 1:
        ratio = age / a.target
    else:
        ratio = o.busy / a.target
        if ratio > 1.0 + a.tolerance and c.serving < c.wanted:
            # Those that do not serve yet count as idle.
            ratio *= c.serving / c.wanted
            if ratio < 1.0:
                return c.wanted
    if abs(ratio - 1.0) <= a.tolerance + TINY:
        return c.wanted
    return np.ceil(c.wanted * ratio - 1e-6)


@compiled
def look_at_replicas(p, s, u, now, age):
    """One look of an autoscaler: what it wants, within its windows and policies."""
    a, c = p.scalers[u], s.scalers[u]
    wanted = min(a.most, max(a.least, wish(p, s, u, age)))
    s.wishes[u, c.wishes % RING, 0], s.wishes[u, c.wishes % RING, 1] = now, wanted
    c.wishes += 1
    up = down = wanted
    for place in range(max(0, c.wishes - RING), c.wishes):
        at, earlier = s.wishes[u, place % RING, 0], s.wishes[u, place % RING, 1]
        if at > now - a.up_window_min - TINY:
            up = min(up, earlier)
        if at > now - a.down_window_min - TINY:
            down = max(down, earlier)
    steady = c.wanted
    if steady < up:
        steady = up
    if steady > down:
        steady = down
    if steady > c.wanted:
        added, taken = changed_in(s, u, now - a.up_period_min)
        base = c.wanted - added + taken
        steady = min(
            steady, max(c.wanted, max(base + a.up_replicas, np.ceil(base * (1.0 + 0.01 * a.up_percent) - TINY)))
        )
    elif steady < c.wanted:
        added, taken = changed_in(s, u, now - a.down_period_min)
        base = c.wanted - added + taken
        least = min(base - a.down_replicas, np.floor(base * (1.0 - 0.01 * a.down_percent) + TINY))
        steady = max(steady, min(c.wanted, least))
    steady = min(a.most, max(a.least, steady))
    more = steady - c.wanted
    if more == 0.0:
        return False
    s.moves[u, c.moves % RING, 0], s.moves[u, c.moves % RING, 1] = now, more
    c.moves += 1
    if more > 0.0:
        soon = min(more, max(0.0, a.fits_on_nodes - c.wanted))
        for late in range(2):
            count = more - soon if late else soon
            if count > 0.0 and c.pending < RING:
                s.starts[u, c.pending, 0] = now + a.start_min + late * a.node_min
                s.starts[u, c.pending, 1] = count
                c.pending += 1
    else:
        fewer = -more
        while fewer > 0.0 and c.pending > 0:
            count = min(fewer, s.starts[u, c.pending - 1, 1])
            s.starts[u, c.pending - 1, 1] -= count
            fewer -= count
            if s.starts[u, c.pending - 1, 1] <= 0.0:
                c.pending -= 1
        c.serving = max(0.0, c.serving - fewer)
    c.wanted = steady
    return True


# What consumers can do.


@compiled
def cap_rate(room, own, each, least, highest, lift):
    """What a cap for ``room`` leaves of the rate ``own`` of the consumers, at a share ``lift`` of the way back to that.

    Caps are whole steps of the rate ``each``, from ``least`` of them to ``highest``; with less than the least the consumers
    stand still. Where room takes all that they do, no step holds them back. ``each`` is 0 where a cap can be any rate.
    """
    if room >= own * (1.0 - TINY):
        return room
    if lift >= 1.0:
        return own
    if each <= 0.0:
        return room + (own - room) * lift
    steps = np.floor(room / each + TINY)
    if lift > 0.0:
        steps = max(steps, least - 1.0)
        steps += np.floor(max(0.0, min(np.ceil(own / each - TINY), highest + 1.0) - steps) * lift + TINY)
    return each * min(steps, highest) if steps >= least else 0.0


@compiled
def own_rate(q):
    """What the consumers of a queue do at most, if nothing outside it holds them back."""
    given = min(min(q.service_rate_per_min, q.cap_per_min), min(q.reserved_per_min, q.consumers_per_min))
    return min(min(given, q.pool_per_min), min(min(q.batches_per_min, q.replicas_per_min), q.ramp_top))


@compiled
def held_to(q, room, lift):
    """What a queue's consumers may do, of so much room."""
    return cap_rate(room, own_rate(q), q.each_per_min, q.least, q.highest, lift)


@compiled
def bound_queue(p, s, u, now, stage):
    """The least of what bounds the consumers of a queue together, but for ramp and batches."""
    q, o = p.queues[u], s.queues[u]
    limit, bound = q.service_rate_per_min, SERVICE
    if o.in_service < 1.0:
        limit, bound = limit * o.in_service, FLEET
    share = course_value(p, q.course, now)
    if share != 1.0:
        limit, bound = limit * share, COURSE
    if q.cap_per_min < limit:
        limit, bound = q.cap_per_min, CAP
    if q.reserved_per_min < limit:
        limit, bound = q.reserved_per_min, RESERVED
    if q.consumers_per_min < limit:
        limit, bound = q.consumers_per_min, CONSUMERS
    if q.pool_per_min < limit:
        limit, bound = q.pool_per_min, POOL
    if p.scalers[u].on and s.scalers[u].serving * p.scalers[u].rate_each_per_min < limit:
        limit, bound = s.scalers[u].serving * p.scalers[u].rate_each_per_min, SCALER
    o.free = own_rate(q)
    room = o.room
    if stage < 4:
        room = held_to(q, min(p.admission[0].floor_share * o.free, share_of(p, s, u, False)), 0.0)
    if room < limit:
        limit, bound = room, ADMISSION
    o.limit, o.bound = limit, bound


@compiled
def set_rate(p, s, line, now):
    """What the consumers of a lane can do from now on, and how that grows; gives the minutes for which it grows."""
    lane, w = p.lanes[line], s.lanes[line]
    q, o = p.queues[lane.queue], s.queues[lane.queue]
    share = lane.service_share
    limit, w.bound = o.limit * share, o.bound
    if lane.batches_per_min < limit:
        limit, w.bound = lane.batches_per_min, BATCHES
    alone, slope = np.inf, 0.0
    if s.plan[0].restored and q.ramp_start < NO_LIMIT:
        alone, slope = (q.ramp_start + q.ramp_slope * now) * share, q.ramp_slope * share
        if q.ramp_top * share < limit:
            limit, w.bound = q.ramp_top * share, RAMP
    free = min(o.free * share, min(alone, lane.batches_per_min))
    w.held = min(alone, limit) < free * (1.0 - TINY)
    w.rate, w.slope = min(alone, limit), 0.0
    if alone < limit:
        w.bound = RAMP
        if slope > 0.0:
            grows = (limit - alone) / slope
            if grows > TINY:
                w.slope = slope
                return grows
            w.rate = limit
    return np.inf


@compiled
def set_demand(p, s, line, span, stage):
    """What the consumers of a lane take."""
    w = s.lanes[line]
    mean = w.rate + 0.5 * w.slope * span
    w.keeps_up = w.rate >= w.coming * (1.0 - TINY)
    w.waits = w.known - w.gone > w.scale or (w.slope > 0.0 and not w.keeps_up)
    w.keeps_up = w.keeps_up and not w.waits
    w.fails = False
    w.side = w.live_fails = w.side_fails = 0.0
    if w.waits:
        w.live = mean
        return
    w.live = min(mean, w.coming)
    if s.plan[0].restored and stage >= 5 and w.side_in - w.side_out > w.scale:
        spare = mean - w.live
        w.side = spare if spare > TINY * mean else 0.0
        if stage < NORMAL:
            w.side = min(w.side, p.admission[0].replay_share * mean)


# Dependencies.


@compiled
def slowed(p, s, line, failing, timed):
    """Live and sidelined work that consumers take when a share of it fails; ``timed``: failures take a time-out.

    Consumers are a closed loop: who waits for a time-out or a backoff takes nothing else.
    """
    w = s.lanes[line]
    u = p.lanes[line].queue
    q = p.queues[u]
    if q.item_min <= 0.0 or failing <= 0.0:
        return w.live, w.side
    attempts = s.queues[u].attempts
    more = q.backoff_min * (attempts - 1.0) / (q.attempts_failing - 1.0) if q.attempts_failing > 1.0 else 0.0
    if timed:
        more += attempts * q.timeout_min
    factor = q.item_min / (q.item_min + failing * more)
    if w.waits:
        return w.live * factor, w.side * factor
    # Who keeps up has time to spare.
    able = max(w.rate, w.live + w.side) * factor
    live = min(w.live, able)
    return live, min(w.side, able - live)


@compiled
def last_call(p, k):
    """The last place at which any queue calls a dependency; the first where none does."""
    last = 0
    for u in range(p.calls.shape[0]):
        for c in range(p.calls.shape[1]):
            if p.calls[u, c] == k:
                last = max(last, c)
    return last


@compiled
def passes(p, s, u, c):
    """What share of a queue's items reaches its call ``c``: in series, what the calls before it serve."""
    share = 1.0
    if not p.queues[u].fan_out:
        for earlier in range(c):
            share *= s.dependencies[p.calls[u, earlier]].passing
    return share


@compiled
def add_loads(p, s):
    """What is asked of every dependency, in requests and in attempts, while calls succeed and while they fail."""
    for k in range(s.dependencies.shape[0]):
        x = s.dependencies[k]
        x.load = x.slow = x.base
        x.failing = x.each * x.base
    for line in range(p.lanes.shape[0]):
        u = p.lanes[line].queue
        w = s.lanes[line]
        live, side = slowed(p, s, line, 1.0, True)
        for c in range(p.calls.shape[1]):
            k = p.calls[u, c]
            if k < 0:
                break
            calls = p.per_item[u, c] * passes(p, s, u, c)
            x = s.dependencies[k]
            x.load += calls * (w.live + w.side)
            x.slow += calls * (live + side)
            x.failing += calls * (live + side) * s.queues[u].attempts


@compiled
def asked_of(p, s, k, passing, timed):
    """Requests and attempts at a dependency that serves such a share of them."""
    x = s.dependencies[k]
    requests = x.base
    attempts = x.base * x.each
    for line in range(p.lanes.shape[0]):
        u = p.lanes[line].queue
        for c in range(p.calls.shape[1]):
            if p.calls[u, c] != k:
                continue
            live, side = slowed(p, s, line, 1.0 - passing, timed)
            calls = p.per_item[u, c] * passes(p, s, u, c) * (live + side)
            requests += calls
            attempts += calls * s.queues[u].attempts
    return requests, attempts


@compiled
def share_served(p, s, k, most, timed):
    """What share of the requests is served if so many a minute can be: consumers take less the more of them fail."""
    low, high = 0.0, 1.0
    requests, _ = asked_of(p, s, k, 1.0, timed)
    if requests <= most:
        return 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        requests, _ = asked_of(p, s, k, middle, timed)
        if requests * middle > most:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@compiled
def judge(p, s, k, now):
    """Whether a dependency is down or rejects, given its load. It goes down over its capacity, and heals when attempts fit in
    again and those in flight are worked off."""
    d, x, r = p.dependencies[k], s.dependencies[k], s.depend[k]
    capacity = x.capacity
    x.working_off = 0.0
    counts = x.failing if x.collapsed else x.load
    if capacity > 0.0:
        r.margin_share = min(r.margin_share, abs(counts / capacity - 1.0))
    limit = d.throttle_per_min if d.collapses else min(d.throttle_per_min, capacity)
    saturated = False
    if not x.collapsed and d.collapses and x.load + x.burst > capacity * (1.0 + TINY):
        if x.burst > 0.0 or x.failing > capacity * (1.0 + TINY):
            x.collapsed = True
            x.fresh_flight = x.burst > 0.0
            r.healed_at_min = -1.0
        else:
            # Consumers that wait for answers hold themselves back: it works at its capacity.
            saturated = True
            limit = min(limit, capacity)
    if x.collapsed:
        x.passing, x.attempts, x.served = 0.0, x.failing, 0.0
        if d.goodput_share > 0.0:
            x.passing = share_served(p, s, k, d.goodput_share * capacity, True)
            requests, x.attempts = asked_of(p, s, k, x.passing, True)
            x.served = x.passing * requests
        if x.attempts > capacity * (1.0 + TINY):
            x.in_flight = x.attempts * d.timeout_min
            x.fresh_flight = False
            return
        if x.fresh_flight:
            x.in_flight = max(capacity, x.attempts) * d.timeout_min
            x.fresh_flight = False
        x.working_off = capacity - x.attempts
        if x.in_flight > TINY * capacity and x.working_off > TINY * capacity:
            return
        x.collapsed = False
        x.working_off = x.in_flight = 0.0
        r.healed_at_min = now
        if d.collapses and x.load > capacity * (1.0 + TINY):
            saturated = True
            limit = min(limit, capacity)
    x.passing, x.attempts, x.served = 1.0, x.load, x.load
    if x.load > limit * (1.0 + TINY):
        x.passing = share_served(p, s, k, limit, False)
        requests, _ = asked_of(p, s, k, x.passing, False)
        x.served = x.attempts = min(limit, requests)
        if not saturated and x.passing < 1.0:
            tries = x.failing / x.slow if x.slow > 0.0 else 1.0
            x.attempts = limit / (1.0 - (1.0 - x.passing) ** (1.0 / tries)) if x.passing > 0.0 else x.failing
            if d.collapses and x.attempts > capacity * (1.0 + TINY):
                x.collapsed = True
                r.healed_at_min = -1.0
                x.passing, x.attempts, x.served = 0.0, x.failing, 0.0
                x.in_flight = x.attempts * d.timeout_min


@compiled
def share_out(p, s):
    """What succeeds where a dependency does not serve all: in a collapse control traffic first, then fresh, then queues in their
    order; where it rejects, the same share of all."""
    for k in range(s.dependencies.shape[0]):
        x = s.dependencies[k]
        x.fresh_ok = x.fresh
        if x.collapsed:
            x.fresh_ok = min(x.fresh, max(0.0, x.served - (x.base - x.fresh)))
        elif x.passing < 1.0:
            x.fresh_ok = x.fresh * x.passing
    for line in range(p.lanes.shape[0]):
        u, w = p.lanes[line].queue, s.lanes[line]
        passing, timed = 1.0, False
        for c in range(p.calls.shape[1]):
            k = p.calls[u, c]
            if k < 0:
                break
            x = s.dependencies[k]
            passing *= x.passing
            timed |= x.collapsed
        s.queues[u].passing = passing
        if passing >= 1.0 and not timed:
            continue
        w.fails, w.timed = True, timed
        live, side = slowed(p, s, line, 1.0 - passing, timed)
        w.live_ok, w.side_ok = live, side
        for c in range(p.calls.shape[1]):
            k = p.calls[u, c]
            if k < 0:
                break
            x, per_item = s.dependencies[k], p.per_item[u, c]
            if x.collapsed:
                left = x.served - (x.base - x.fresh) - x.fresh_ok
                for other in range(line):
                    if calls_of(p, p.lanes[other].queue, k) > 0.0:
                        left -= calls_of(p, p.lanes[other].queue, k) * (s.lanes[other].live_ok + s.lanes[other].side_ok)
                left = max(0.0, left) / per_item
                w.live_ok = min(w.live_ok, left)
                w.side_ok = min(w.side_ok, left - w.live_ok)
            else:
                w.live_ok *= x.passing
                w.side_ok *= x.passing
        w.live_fails, w.side_fails = live - w.live_ok, side - w.side_ok


@compiled
def calls_of(p, u, k):
    """Calls of a dependency that an item of a queue makes."""
    for c in range(p.calls.shape[1]):
        if p.calls[u, c] == k:
            return p.per_item[u, c]
    return 0.0


@compiled
def charge_pools(p, s):
    """What failing requests take from the quotas of those who make them, and what successes bring back."""
    for place in range(s.pools.shape[0]):
        s.pools[place].burn = s.pools[place].earn = 0.0
    for k in range(s.dependencies.shape[0]):
        x, pool = s.dependencies[k], s.pools[k]
        if x.collapsed or x.passing < 1.0:
            pool.burn += (x.each - 1.0) * x.base * (1.0 if x.collapsed else 1.0 - x.passing)
        else:
            pool.earn += x.base
    for line in range(p.lanes.shape[0]):
        u, w = p.lanes[line].queue, s.lanes[line]
        place = p.queues[u].pool
        if place < 0:
            continue
        if not w.fails:
            s.pools[place].earn += calls_all(p, u) * (w.live + w.side)
        else:
            failing = w.live_fails + w.side_fails
            if w.timed:
                # In a collapse every request is tried so often, those that succeed in the end too.
                failing += w.live_ok + w.side_ok
            s.pools[place].burn += (s.queues[u].attempts - 1.0) * calls_all(p, u) * failing


@compiled
def calls_all(p, u):
    """Calls that an item of a queue makes."""
    total = 0.0
    for c in range(p.calls.shape[1]):
        if p.calls[u, c] >= 0:
            total += p.per_item[u, c]
    return total


@compiled
def move_dependency(p, s, k, dt, fills):
    """Cache, flights and tallies of a stretch; tells whether the load changes by itself."""
    d, x, r = p.dependencies[k], s.dependencies[k], s.depend[k]
    if dt > TINY * p.step:
        r.peak_attempts_per_min = max(r.peak_attempts_per_min, x.attempts)
    r.direct += (x.fresh + x.shed) * dt
    r.shed += x.shed * dt
    r.direct_served += x.fresh_ok * dt
    r.failed_direct += (x.fresh - x.fresh_ok) * dt
    if x.collapsed:
        r.time_collapsed_min += dt
        if x.working_off > 0.0:
            left = x.in_flight - x.working_off * dt
            x.in_flight = left if left > TINY * x.capacity else 0.0
            return x.in_flight <= 0.0
        return False
    if x.control_left > 0.0:
        left = x.control_left - d.control_catch_up_per_min * dt
        x.control_left = left if left > TINY * d.control_backlog else 0.0
        if x.control_left <= 0.0:
            return True
    if fills and d.cache_fill_min > 0.0 and x.hit != d.hit_at_rest:
        x.hit = d.hit_at_rest + (x.hit - d.hit_at_rest) * np.exp(-dt / d.cache_fill_min)
        return True
    return False


@compiled
def move_pools(p, s, dt):
    """Quotas after a stretch."""
    for place in range(s.pools.shape[0]):
        pool, row = s.pools[place], p.pools[place]
        if pool.burn > 0.0:
            if not pool.limited and pool.tokens < NO_LIMIT:
                left = pool.tokens - pool.burn * dt
                pool.tokens = left if left > TINY * row.retry_tokens else 0.0
        elif pool.earn > 0.0:
            pool.tokens = min(row.retry_tokens, pool.tokens + pool.earn * row.refill_per_success * dt)


# Queues.


@compiled
def time_to_clear_stack(p, s, line, place):
    """Minutes until a stack is empty, or its newest item past its deadline: served from one end, it ages at the other."""
    w = s.lanes[line]
    q = p.queues[p.lanes[line].queue]
    ageing, wait = 0.0, np.inf
    if w.bottom <= w.top:
        limit, _ = age_limit(q, False)
        if limit < NO_LIMIT and place - limit * p.inv >= w.bottom:
            ageing = s.stack[line, w.bottom] * p.inv
        if q.deadline_min < NO_LIMIT and s.stack[line, w.top] > 0.0:
            gap = w.top + w.crest - place + q.deadline_min * p.inv
            in_cell = w.crest * s.stack[line, w.top] / w.side
            wait = max(TINY * p.step, min(gap / (p.inv + w.side / s.stack[line, w.top]), in_cell))
    return min(wait, (w.side_in - w.side_out) / (w.side + ageing))


@compiled
def time_to_change(p, s, line, place):
    """Minutes until one of the two queues of a lane runs empty at the rates of this stretch."""
    w = s.lanes[line]
    q = p.queues[p.lanes[line].queue]
    if w.waits:
        live = max(0.0, w.known - w.gone)
        if w.fails:
            return time_to_clear(live, w.live_ok + w.live_fails / q.max_receives - w.coming, 0.0)
        gain = w.rate - w.coming
        if gain < 0.0 and q.fresh_first and q.sideline_after_min <= 0.0:
            # Nothing builds up here: what is not served at once is set aside.
            return -gain / w.slope if w.slope > 0.0 else np.inf
        return time_to_clear(live, gain, w.slope)
    if w.side > 0.0:
        side = w.side_in - w.side_out
        if w.fails:
            return time_to_clear(side, w.side_ok + w.side_fails / q.max_receives, 0.0)
        if w.slope > 0.0:
            return time_to_clear(side, w.rate - w.coming, w.slope)
        return time_to_clear_stack(p, s, line, place) if q.stack else side / w.side
    return np.inf


@compiled
def time_to_outpace(p, s, line, place):
    """Minutes until a ramp serves faster than work becomes too old to wait where it does, if it does not yet."""
    w = s.lanes[line]
    q = p.queues[p.lanes[line].queue]
    limit, _ = age_limit(q, True)
    aside = q.sideline_after_min * p.inv
    if w.waits:
        if q.fresh_first:
            limit = min(limit, q.sideline_after_min)
        if limit >= NO_LIMIT:
            return np.inf
        old = place - limit * p.inv
        ageing = (value_at(s.curves, line, old + 1.0, w.early) - value_at(s.curves, line, old, w.early)) * p.inv
        rate = w.rate
    elif w.side > 0.0 and limit < NO_LIMIT and not q.stack:
        old = place - limit * p.inv
        later = aside_by(p, s, line, old + 1.0, aside, place)
        ageing = (later - aside_by(p, s, line, old, aside, place)) * p.inv
        rate = w.rate - w.coming
    else:
        return np.inf
    wait = (ageing - rate) / w.slope
    return wait if wait > TINY else np.inf


@compiled
def move_lane(p, s, line, i, place, dt):
    """Service, dead letters, sidelining and expiry of a stretch that ends at ``place``, in step ``i`` of the grid.

    Tells whether the lane may now take another course than its rates say.
    """
    lane, w = p.lanes[line], s.lanes[line]
    q, r = p.queues[lane.queue], s.results[lane.queue]
    removed = False
    known = s.curves[line, i + 1] if place == i + 1 else w.known + w.coming * dt
    mean = w.rate + 0.5 * w.slope * dt
    side_waiting = w.side_in - w.side_out
    dead_side = 0.0
    if w.fails:
        live, side = w.live_ok * dt, min(w.side_ok * dt, side_waiting)
        if q.max_receives < NO_LIMIT:
            dead = min(w.live_fails / q.max_receives * dt, max(0.0, known - w.gone - live))
            dead_side = min(w.side_fails / q.max_receives * dt, side_waiting - side)
            r.dead_lettered += dead + dead_side
            w.gone += dead
            w.side_out += dead_side
    else:
        live = (mean if w.waits else min(mean, w.coming)) * dt
        side = 0.0
        if w.side > 0.0:
            side = min(mean * dt - live if w.slope > 0.0 else w.side * dt, side_waiting)
    if w.keeps_up and not w.fails:
        live = known - w.gone
    after = max(w.gone, min(w.gone + live, known))
    r.served += after - w.gone + side
    w.known, w.gone = known, after
    w.side_out += side
    if q.stack and side + dead_side > 0.0:
        pop(s, line, side + dead_side)
    aside = w.side_in
    restored = s.plan[0].restored
    limit, kind = age_limit(q, restored and mean > 0.0)
    if restored and set_aside(p, s, line, place, limit):
        s.side_curves[line, i + 1] = w.side_in
        removed = w.waits and w.side_in > aside
        limit, kind = age_limit(q, w.side > 0.0 and not q.stack)
        if limit < NO_LIMIT and w.side_in > w.side_out:
            gone = old_aside(p, s, line, place, limit)
            if gone > 0.0:
                count_removed(r, kind, gone)
                removed = True
    else:
        s.side_curves[line, i + 1] = w.side_in
        if limit < NO_LIMIT:
            floor = value_at(s.curves, line, place - limit * p.inv, w.early)
            if floor > w.gone:
                count_removed(r, kind, floor - w.gone)
                w.gone = floor
                removed = True
    waits = w.known - w.gone > w.scale
    return removed or waits != w.waits


@compiled
def note_queue(p, s, u, now):
    """Keep when fresh age was back and the backlog gone, of all lanes; not if the system around it made it wait again."""
    r = s.results[u]
    fresh, empty, again = True, True, False
    for line in range(p.first_lane[u], p.first_lane[u + 1]):
        w = s.lanes[line]
        is_fresh = w.keeps_up and not w.fails
        fresh &= is_fresh
        empty &= is_fresh and w.side_in - w.side_out <= w.scale
        again |= w.held or w.fails
    s.seen[0].fresh &= fresh
    s.seen[0].empty &= empty
    if not s.plan[0].restored:
        s.seen[0].reached = False
        return
    if fresh:
        if r.fresh_age_back_min < 0.0:
            r.fresh_age_back_min = now
    elif again:
        r.fresh_age_back_min = -1.0
    if empty:
        if r.drain_min < 0.0:
            r.drain_min = now
    elif again:
        r.drain_min = -1.0
    s.seen[0].reached &= r.fresh_age_back_min >= 0.0 and r.drain_min >= 0.0


@compiled
def tally(p, s, dt):
    """Peaks, and for how long which bound was the least while work waited."""
    for u in range(s.queues.shape[0]):
        waiting, bound = 0.0, 0
        for line in range(p.first_lane[u], p.first_lane[u + 1]):
            w = s.lanes[line]
            here = waiting_in(w)
            waiting += here
            if bound == 0 and here > w.scale:
                bound = DEPENDENCY if w.fails else w.bound
        s.queues[u].waiting = waiting
        s.results[u].peak_backlog = max(s.results[u].peak_backlog, waiting)
        s.bounds[u, bound] += dt


# The admission plan.


@compiled
def signal_holds(stage, seen):
    """Whether the signal of an admission step holds: no dependency is down, and what the step itself waits for."""
    if not seen.healthy:
        return False
    if stage == 2:
        return seen.warm
    if stage == 3:
        return seen.within
    if stage == 4:
        return seen.fresh
    if stage == 5:
        return seen.empty
    if stage == 7:
        return seen.full
    return True


@compiled
def change_step(p, s, holds, now):
    """Take the next admission step if its time has come, or fall back after a collapse. Gives 1, -1 or 0 for neither."""
    plan, begun, healthy = s.plan[0], s.begun, s.seen[0].healthy
    stage = plan.stage
    if not healthy and stage > 1 and plan.trouble >= p.admission[0].notice_min - TINY:
        plan.calm = 0.0
        back = 1
        if stage == 7 or (stage == 6 and plan.lift > 0.0):
            # What was lifted last goes first; if that does not heal it, the doors close at the same moment.
            back = 6
            plan.lift = 0.0
        else:
            plan.trouble = 0.0
            begun[1] = now
        plan.stage = back
        for later in range(back + 1, NORMAL + 1):
            begun[later] = -1.0
        return -1
    if holds and plan.calm >= p.holds[stage - 1] - TINY:
        plan.calm = 0.0
        if stage == 6 and plan.lift < p.admission[0].lifts:
            plan.lift += 1.0
        else:
            plan.stage = stage + 1
            plan.lift = 1.0
            begun[stage + 1] = now
        return 1
    return 0


@compiled
def share_of(p, s, u, left):
    """What a queue gets of the room at its dependencies, by what their consumers can do and as a cap can be.

    ``left``: of what queues at rest leave.
    """
    q = p.queues[u]
    room = np.inf
    for c in range(p.calls.shape[1]):
        k = p.calls[u, c]
        if k < 0:
            break
        x = s.dependencies[k]
        among = x.draining if left else x.service
        if own_rate(q) <= 0.0:
            return 0.0
        if among > 0.0:
            room = min(room, (x.left if left else x.room) * own_rate(q) / among)
    return held_to(q, room, 0.0) if room < NO_LIMIT else room


@compiled
def look_for_rest(p, s, u, stage):
    """Whether a queue has nothing to drain in this step, and its share takes what arrives: others may have the rest."""
    o = s.queues[u]
    o.at_rest, o.coming = True, 0.0
    for line in range(p.first_lane[u], p.first_lane[u + 1]):
        w = s.lanes[line]
        o.coming += w.coming
        if w.known - w.gone > w.scale or (stage >= 5 and w.side_in - w.side_out > w.scale):
            o.at_rest = False
    if o.coming > share_of(p, s, u, False):
        o.at_rest = False


@compiled
def offer_direct(p, s, k, i, now):
    """Direct and control traffic of a dependency, its capacity, and what its drains may have."""
    d, x = p.dependencies[k], s.dependencies[k]
    stage = s.plan[0].stage
    x.capacity = d.capacity_per_min * course_value(p, d.course, now)
    fresh = d.fresh_per_min
    if p.direct.shape[1] > 0:
        base = min(p.direct.shape[1] - 1, max(0, i + int(np.floor(p.place))))
        fresh = fresh * p.direct[k, base] + p.surge[k, max(0, i - p.restore_at)] * (i >= p.restore_at)
    x.fresh = fresh * (1.0 - x.hit) / (1.0 - d.hit_at_rest)
    x.shed = 0.0
    if stage < 3:
        x.shed, x.fresh = x.fresh, 0.0
    control = d.control_per_min + (d.control_catch_up_per_min if x.control_left > 0.0 else 0.0)
    x.base = control + x.fresh
    pool = s.pools[k]
    pool.limited = stage < NORMAL or pool.tokens <= 0.0
    x.each = min(d.attempts_failing, p.pools[k].sustained_attempts) if pool.limited else d.attempts_failing
    x.room = x.left = p.admission[0].drain_share * max(0.0, d.room_per_min - control - x.fresh)
    x.draining = x.service
    x.burst = 0.0


@compiled
def offer(p, s, i, now, cell_end):
    """Direct traffic, and what consumers can do; gives the time up to which that only grows, and that up to which it holds."""
    plan = s.plan[0]
    stage, grows, until = plan.stage, np.inf, np.inf
    s.seen[0].full = True
    for f in range(s.fleets.shape[0]):
        if not s.fleets[f].settled:
            until = min(until, serve_with(p, s, f, now, cell_end))
        s.lowest[f] = min(s.lowest[f], s.fleets[f].serving)
        s.seen[0].full &= s.fleets[f].full
    for k in range(s.dependencies.shape[0]):
        offer_direct(p, s, k, i, now)
        until = min(until, course_next(p, p.dependencies[k].course, now))
    holds_back = 4 <= stage < 7
    for u in range(s.queues.shape[0]):
        o, q = s.queues[u], p.queues[u]
        until = min(until, course_next(p, q.course, now))
        o.in_service = s.fleets[q.fleet].share if q.fleet >= 0 else 1.0
        o.attempts = q.attempts_failing
        if q.pool >= 0:
            pool = s.pools[q.pool]
            pool.limited = stage < NORMAL or pool.tokens <= 0.0
            if pool.limited:
                o.attempts = min(o.attempts, p.pools[q.pool].sustained_attempts)
        if holds_back:
            look_for_rest(p, s, u, stage)
            if o.at_rest:
                for c in range(p.calls.shape[1]):
                    k = p.calls[u, c]
                    if k >= 0:
                        s.dependencies[k].left -= o.coming * p.per_item[u, c]
                        s.dependencies[k].draining -= own_rate(q) * p.per_item[u, c]
    for u in range(s.queues.shape[0]):
        o, q = s.queues[u], p.queues[u]
        o.room = np.inf
        if holds_back and p.calls.shape[1] > 0 and p.calls[u, 0] >= 0:
            o.room = share_of(p, s, u, not o.at_rest)
            if stage == 6:
                o.room = held_to(q, o.room, plan.lift / p.admission[0].lifts)
        if p.scalers[u].on:
            until = min(until, min(start_replicas(p, s, u, now), s.scalers[u].next_sync))
        bound_queue(p, s, u, now, stage)
        for line in range(p.first_lane[u], p.first_lane[u + 1]):
            grows = min(grows, now + set_rate(p, s, line, now))
        spread = q.start_spread_min
        if spread > 0.0 and plan.restored and now < spread - TINY and o.limit > 0.0:
            until = min(until, spread)
            for c in range(p.calls.shape[1]):
                k = p.calls[u, c]
                if k >= 0:
                    rate = min(o.limit, min(q.ramp_start, q.batches_per_min))
                    s.dependencies[k].burst += max(0.0, rate * q.item_min / spread - rate) * p.per_item[u, c]
    return grows, until


@compiled
def take(p, s, place, span, first):
    """What the consumers take, and the load and the attempts that it makes."""
    stage = s.plan[0].stage
    restored = s.plan[0].restored
    for line in range(p.lanes.shape[0]):
        w = s.lanes[line]
        q = p.queues[p.lanes[line].queue]
        has_capacity = restored and w.rate + w.slope > 0.0
        if first:
            # Before deadlines are looked at: the turn of what is set aside comes later.
            w.side_base = w.gone
            limit, _ = age_limit(q, has_capacity)
            set_aside(p, s, line, place, limit)
            w.side_first = s.side_curves[line, p.restore_at] = w.side_in
        if q.deadline_min < NO_LIMIT and has_capacity:
            # A ramp that has just come up to what arrives leaves something over at once.
            gain = w.rate - w.coming
            slack = TINY * w.coming
            spare = stage >= 5 and (gain > slack or (w.slope > 0.0 and gain >= -slack)) and w.known - w.gone <= w.scale
            discard(p, s, line, place, spare)
        set_demand(p, s, line, span, stage)


@compiled
def look(p, s, now):
    """Which dependencies are down or reject, what still succeeds, and what all that tells."""
    seen = s.seen[0]
    seen.healthy = seen.warm = seen.within = seen.fresh = seen.empty = seen.reached = True
    for c in range(max(1, p.calls.shape[1])):
        # In series, what comes to a dependency is known when those before it are.
        add_loads(p, s)
        for k in range(s.dependencies.shape[0]):
            if last_call(p, k) == c:
                judge(p, s, k, now)
    for k in range(s.dependencies.shape[0]):
        d, x = p.dependencies[k], s.dependencies[k]
        seen.warm &= x.hit >= 0.9 * d.hit_at_rest - TINY and x.control_left <= 0.0
        seen.within &= x.load <= p.admission[0].objective_share * x.capacity * (1.0 + TINY)
        seen.healthy &= not x.collapsed
        seen.reached &= x.passing >= 1.0
    share_out(p, s)
    charge_pools(p, s)
    for u in range(s.queues.shape[0]):
        note_queue(p, s, u, now)


@compiled
def first_change(p, s, holds, place):
    """Minutes until a queue runs empty, a quota runs out, a cache is warm or an admission step may change."""
    plan, seen = s.plan[0], s.seen[0]
    stage = plan.stage
    dt = np.inf
    for line in range(p.lanes.shape[0]):
        dt = min(dt, time_to_change(p, s, line, place))
        if s.lanes[line].slope > 0.0:
            dt = min(dt, time_to_outpace(p, s, line, place))
    for k in range(s.dependencies.shape[0]):
        d, x = p.dependencies[k], s.dependencies[k]
        if x.working_off > 0.0:
            dt = min(dt, x.in_flight / x.working_off)
        if x.control_left > 0.0 and not x.collapsed:
            dt = min(dt, x.control_left / d.control_catch_up_per_min)
        if stage == 2 and not seen.warm and not x.collapsed and d.cache_fill_min > 0.0:
            gap = (d.hit_at_rest - x.hit) / (0.1 * d.hit_at_rest)
            if gap > 1.0:
                dt = min(dt, d.cache_fill_min * np.log(gap))
    for place_ in range(s.pools.shape[0]):
        pool = s.pools[place_]
        if pool.burn > 0.0 and not pool.limited and pool.tokens < NO_LIMIT:
            dt = min(dt, pool.tokens / pool.burn)
    if stage < NORMAL:
        if holds:
            dt = min(dt, p.holds[stage - 1] - plan.calm)
        if not seen.healthy and stage > 1:
            dt = min(dt, p.admission[0].notice_min - plan.trouble)
    return dt


# What is kept.


@compiled
def write_lane(p, s, line, course, row, t):
    """Add the state of a lane to the course of its queue."""
    w = s.lanes[line]
    u = p.lanes[line].queue
    c, r = course[row, u], s.results[u]
    live = max(0.0, w.known - w.gone)
    if line == p.first_lane[u]:
        c.live = c.sidelined = c.first_attempt_age_min = 0.0
        c.arrived = r.superseded - p.queues[u].backlog_before
        c.served, c.expired, c.lost_to_retention = r.served, r.expired, r.lost_to_retention
        c.discarded_past_deadline, c.superseded, c.dead_lettered = (
            r.discarded_past_deadline,
            r.superseded,
            r.dead_lettered,
        )
        c.bound, c.replicas = 0.0, s.scalers[u].serving
    c.live += live
    c.sidelined += max(0.0, w.side_in - w.side_out)
    c.arrived += w.known
    if live > w.scale:
        c.first_attempt_age_min = max(c.first_attempt_age_min, age_of(p, s, line, t))
    if c.bound == 0.0 and waiting_in(w) > w.scale and t > p.t0 + p.begin_at * p.step + TINY:
        c.bound = DEPENDENCY if w.fails else w.bound


@compiled
def age_of(p, s, line, t):
    """Age of the item next in turn."""
    w, curves = s.lanes[line], s.curves
    after = np.searchsorted(curves[line], w.gone, side="right")
    if after == 0:
        place = -(curves[line, 0] - w.gone) / w.early if w.early > 0.0 else 0.0
    elif after == curves.shape[1]:
        place = after - 1.0
    else:
        place = after - 1.0 + (w.gone - curves[line, after - 1]) / (curves[line, after] - curves[line, after - 1])
    return max(0.0, t - p.t0 - place * p.step)


@compiled
def oldest_of(p, s, u, t):
    """Age of the oldest item that waits in a queue."""
    oldest = 0.0
    for line in range(p.first_lane[u], p.first_lane[u + 1]):
        w = s.lanes[line]
        if w.known - w.gone > w.scale:
            oldest = max(oldest, age_of(p, s, line, t))
    return oldest


@compiled
def write_row(p, s, course, others, row, t):
    """The state at a point of the grid."""
    for line in range(p.lanes.shape[0]):
        write_lane(p, s, line, course, row, t)
    column = 0
    for k in range(s.dependencies.shape[0]):
        others[row, column] = s.dependencies[k].attempts
        others[row, column + 1] = s.dependencies[k].collapsed
        column += 2
    for f in range(s.fleets.shape[0]):
        others[row, column] = s.fleets[f].serving
        column += 1
    others[row, column] = s.plan[0].stage


@compiled
def note_waiting(waits, row, after, s):
    """Keep what waits after steps taken as one, and on the way there, where rates were constant."""
    for u in range(s.queues.shape[0]):
        now = s.queues[u].waiting
        gain = (now - waits[row, u]) / (after - row)
        for passed in range(row + 1, after):
            waits[passed, u] = waits[row, u] + gain * (passed - row)
        waits[after, u] = now


@compiled
def find_steady(bases, direct, steady):
    """For each point of the grid, the last one up to which arrivals and direct traffic keep the rate that they have there."""
    points = bases.shape[1]
    end = points - 1
    steady[end] = end
    for i in range(points - 2, -1, -1):
        changes = False
        for q in range(bases.shape[0]):
            rate = bases[q, end] - bases[q, end - 1]
            changes |= abs(bases[q, i + 1] - bases[q, i] - rate) > SAME_RATE * rate
        if changes:
            end = i + 1
        steady[i] = end
    # Direct traffic that changes is looked at in every step.
    if direct.shape[1] > 0:
        for i in range(points):
            steady[i] = min(points - 1, i + 1)


@compiled
def quiet_steps(p, s, i, most):
    """How many steps of the grid from ``i`` on, at most ``most``, bring nothing new, so that they can be taken as one.

    Rates hold for all of them. Nothing may fail, be set aside or become too old meanwhile, since that differs from step to step.
    """
    base = min(p.steady.shape[0] - 1, max(0, i + int(np.floor(p.place))))
    spare = 0 if p.place == np.floor(p.place) else 1
    most = min(most, p.steady[base] - base - spare)
    if most < 2:
        return 1
    for k in range(s.dependencies.shape[0]):
        if s.dependencies[k].collapsed or s.dependencies[k].passing < 1.0:
            return 1
    for f in range(s.fleets.shape[0]):
        if not s.fleets[f].settled:
            return 1
    for line in range(p.lanes.shape[0]):
        q = p.queues[p.lanes[line].queue]
        if q.fresh_first:
            return 1
        limit, _ = age_limit(q, True)
        if limit >= NO_LIMIT:
            continue
        w = s.lanes[line]
        # What has left only grows: work that is too old at the end of a stretch and had not left at its start may be removed.
        while most > 1 and value_at(s.curves, line, i + most - limit * p.inv, w.early) > w.gone:
            if value_at(s.curves, line, i + 2 - limit * p.inv, w.early) > w.gone:
                return 1
            most //= 2
    return most


@compiled
def repeats(p, s):
    """Whether the state is that of one period ago, or worse, and the period did the same; keeps it for the next time.

    An admission plan that fell back in both periods, from the same step, need not stand at the same place of its own cycle.
    """
    same = True
    for line in range(p.lanes.shape[0]):
        w = s.lanes[line]
        slack = TINY * w.known
        live, side = w.known - w.gone, w.side_in - w.side_out
        if live < s.mark_q[line, 0] - slack or side < s.mark_q[line, 1] - slack:
            same = False
        s.mark_q[line, 0], s.mark_q[line, 1] = live, side
    last = s.mark_f.shape[0] - 6
    plan = s.plan[0]
    now = (float(plan.highest), plan.falls, float(plan.stage), plan.lift, plan.calm, plan.trouble)
    cycles = plan.falls > 0.0 and s.mark_f[last + 1] > 0.0 and s.mark_f[last] == plan.highest
    for column in range(6):
        if column > 1 and not cycles and abs(now[column] - s.mark_f[last + column]) > 1e-6:
            same = False
        s.mark_f[last + column] = now[column]
    plan.highest, plan.falls = plan.stage, 0.0
    for k in range(s.dependencies.shape[0]):
        x, mark = s.dependencies[k], s.mark_k[k]
        total = s.depend[k].time_collapsed_min
        gained, down = total - mark[0], 1.0 if x.collapsed else 0.0
        moved = abs(gained - mark[1]) > 1e-6 or down != mark[2] or abs(x.hit - mark[3]) > TINY
        if (moved and not cycles) or x.control_left != mark[4]:
            same = False
        mark[0], mark[1], mark[2], mark[3], mark[4] = total, gained, down, x.hit, x.control_left
    for place in range(s.pools.shape[0]):
        tokens, before = s.pools[place].tokens, s.mark_p[place]
        if tokens != before and not abs(tokens - before) <= TINY * before and not cycles:
            same = False
        s.mark_p[place] = tokens
    for f in range(s.fleets.shape[0]):
        serving = s.fleets[f].serving
        if abs(serving - s.mark_f[f]) > TINY * s.mark_f[f]:
            same = False
        s.mark_f[f] = serving
    for u in range(s.queues.shape[0]):
        place = s.fleets.shape[0] + u
        wanted = s.scalers[u].wanted + s.scalers[u].serving
        if wanted != s.mark_f[place]:
            same = False
        s.mark_f[place] = wanted
    return same


@compiled
def mark_losses(p, s, length):
    """What a whole period lost, a minute."""
    for k in range(s.dependencies.shape[0]):
        r = s.depend[k]
        unserved = r.shed + r.failed_direct
        r.unserved_per_min = (unserved - r.marked_unserved) / length
        r.marked_unserved = unserved
    for u in range(s.queues.shape[0]):
        r = s.results[u]
        losses = r.expired + r.lost_to_retention + r.discarded_past_deadline + r.dead_lettered
        r.lost_per_min = (losses - r.marked_losses) / length
        r.marked_losses = losses
        waiting = 0.0
        for line in range(p.first_lane[u], p.first_lane[u + 1]):
            w = s.lanes[line]
            waiting += w.known - w.gone - s.mark_q[line, 0] + w.side_in - w.side_out - s.mark_q[line, 1]
        r.grew_per_min = waiting / length


@compiled
def begin(p, s):
    """The state where consumers run again, queues aside."""
    for place in range(s.pools.shape[0]):
        s.pools[place].tokens = p.pools[place].retry_tokens
        s.pools[place].limited = False
        s.pools[place].burn = s.pools[place].earn = 0.0
    for k in range(s.dependencies.shape[0]):
        d, x, r = p.dependencies[k], s.dependencies[k], s.depend[k]
        x.collapsed = x.fresh_flight = d.collapsed_at_restore and p.begin_at == p.restore_at
        x.hit, x.service, x.in_flight, x.control_left = d.hit_at_restore, 0.0, 0.0, d.control_backlog
        x.passing = 0.0 if x.collapsed else 1.0
        r.healed_at_min = -1.0 if x.collapsed else 0.0
        r.margin_share = np.inf
    for u in range(s.queues.shape[0]):
        q = p.queues[u]
        for c in range(p.calls.shape[1]):
            if p.calls[u, c] >= 0:
                s.dependencies[p.calls[u, c]].service += own_rate(q) * p.per_item[u, c]
        r = s.results[u]
        r.drain_min = r.fresh_age_back_min = -1.0
        a, c = p.scalers[u], s.scalers[u]
        c.wanted = c.serving = a.at_restore
        c.next_sync = a.sync_min if a.on else np.inf
        c.pending = c.wishes = c.moves = 0
        s.queues[u].busy = 1.0
        s.queues[u].waiting = 0.0
    for f in range(s.fleets.shape[0]):
        g, fleet = s.fleets[f], p.fleets[f]
        g.serving = s.lowest[f] = fleet.running
        g.bucket, g.requests = fleet.launch_burst, fleet.request_burst
        g.settled, g.removed, g.removal, g.since = False, 0.0, 0.0, 0.0
        g.full = g.serving >= fleet.needed - 0.5
        g.share = min(1.0, g.serving / fleet.needed) if fleet.needed > 0.0 else 1.0
    for line in range(p.lanes.shape[0]):
        w, q = s.lanes[line], p.queues[p.lanes[line].queue]
        w.known = w.gone = w.side_in = w.side_out = w.side_base = w.side_first = w.coming = w.rate = w.slope = (
            w.live
        ) = w.side = 0.0
        w.fails = w.held = w.waits = w.keeps_up = False
        w.live_ok = w.side_ok = w.live_fails = w.side_fails = w.cut = 0.0
        w.crest = 1.0
        w.top, w.bottom, w.bound = -1, 0, 0
        share = p.lanes[line].arrival_share
        w.early = q.arrivals * p.first_rates[p.lanes[line].queue] * share * p.step
        if w.early <= 0.0:
            # Without a rate at the trigger, what waited there is taken to have come at that moment.
            w.early = q.backlog_before * share / TINY
        w.scale = 0.0
    for place in range(s.begun.shape[0]):
        s.begun[place] = -1.0
    plan = s.plan[0]
    plan.stage, plan.restored = NORMAL, False
    plan.lift = plan.calm = plan.trouble = plan.falls = 0.0
    plan.highest = 0
    s.overall[0].fallbacks = 0.0


@compiled
def restore(p, s):
    """What happens at the restore: superseded work goes, and the admission plan begins."""
    for line in range(p.lanes.shape[0]):
        supersede(p, s, line)
    plan = s.plan[0]
    plan.restored = True
    plan.stage = 1 if p.admission[0].on else NORMAL
    s.begun[plan.stage] = 0.0
    if p.begin_at < p.restore_at:
        for k in range(s.dependencies.shape[0]):
            if p.dependencies[k].collapsed_at_restore and not s.dependencies[k].collapsed:
                s.dependencies[k].collapsed = s.dependencies[k].fresh_flight = True
                s.depend[k].healed_at_min = -1.0


@compiled
def scale_replicas(p, s, now):
    """Let every autoscaler look whose time has come; tells whether one changed its mind."""
    changed = False
    for u in range(s.queues.shape[0]):
        a, c = p.scalers[u], s.scalers[u]
        if a.on and now >= c.next_sync - TINY:
            able = taken = waiting = 0.0
            for line in range(p.first_lane[u], p.first_lane[u + 1]):
                w = s.lanes[line]
                able += w.rate
                taken += w.rate if w.waits else w.live + w.side
                waiting += waiting_in(w)
            s.queues[u].busy = min(1.0, taken / able) if able > 0.0 else 1.0
            s.queues[u].waiting = waiting
            changed |= look_at_replicas(p, s, u, now, oldest_of(p, s, u, now))
            c.next_sync += a.sync_min
    return changed


@compiled
def run_draw(p, s, settled, period, course, others, waits):
    """Simulate one draw."""
    points = s.curves.shape[1]
    step, t0, inv = p.step, p.t0, p.inv
    plan, overall, seen = s.plan[0], s.overall[0], s.seen[0]
    last = p.restore_at
    begin(p, s)
    for line in range(p.lanes.shape[0]):
        fill_curve(p, s, line)
        remove_too_old(p, s, line)
    for i in range(max(0, int((p.trigger - t0) * inv + TINY)), p.begin_at):
        for line in range(p.lanes.shape[0]):
            outage(p, s, line, i)
        tally(p, s, 0.0)
        if course.shape[0] > 0:
            for line in range(p.lanes.shape[0]):
                write_lane(p, s, line, course, i + 1, t0 + (i + 1) * step)
        if waits.shape[0] > 0:
            for u in range(s.queues.shape[0]):
                waits[i + 1, u] = s.queues[u].waiting
    for line in range(p.lanes.shape[0]):
        w = s.lanes[line]
        w.known = s.curves[line, p.begin_at]
        w.scale = TINY * (w.known + p.queues[p.lanes[line].queue].service_rate_per_min)
    check = p.restore_at + settled if period > 0 else points
    marks = 0
    overall.end_min, overall.never, overall.over = t0 + (points - 1) * step, False, False
    # Rates are looked at anew when something may have changed them: ``stale``, or the next change is due.
    first, stale, holds = False, True, False
    change_at = 0.0
    tally(p, s, 0.0)

    after = p.begin_at
    while after < points - 1:
        i, after = after, after + 1
        now, cell_end = t0 + i * step, t0 + after * step
        if i == p.restore_at:
            tally(p, s, 0.0)
            restore(p, s)
            first = stale = True
        if plan.restored:
            for f in range(s.fleets.shape[0]):
                stale |= move_fleet(p, s, f, i, now, plan.stage == NORMAL)
        for line in range(p.lanes.shape[0]):
            w = s.lanes[line]
            coming = (s.curves[line, i + 1] - s.curves[line, i]) * inv
            if abs(coming - w.coming) > SAME_RATE * coming:
                w.coming = coming
                stale = True
        if p.direct.shape[1] > 0:
            stale = True
        if not stale and course.shape[0] == 0 and plan.stage >= NORMAL and plan.restored:
            most = min(check, points - 1) - i
            if change_at < t0 + (i + most) * step:
                most = int((change_at - now) * inv - TINY)
            after = i + quiet_steps(p, s, i, most)
            cell_end = t0 + after * step

        cuts = 0
        place = float(i)
        while place < after:
            if stale or now >= change_at - TINY * step:
                cuts += 1
                if scale_replicas(p, s, now) and cuts < MOST_CUTS:
                    stale = True
                grows_until, holds_until = offer(p, s, i, now, cell_end)
                take(p, s, place, min(grows_until, cell_end) - now, first)
                look(p, s, now)
                first = False
                holds = False
                if plan.stage < NORMAL:
                    holds = signal_holds(plan.stage, seen)
                    if not holds:
                        plan.calm = 0.0
                    if seen.healthy:
                        plan.trouble = 0.0
                    change = 0
                    if cuts < MOST_CUTS:
                        change = change_step(p, s, holds, now)
                    if change != 0:
                        overall.fallbacks += change < 0
                        plan.falls += change < 0
                        plan.highest = max(plan.highest, plan.stage)
                        continue
                elif plan.restored and seen.reached and seen.healthy and seen.full and now >= p.last_course:
                    overall.end_min, overall.over = now, True
                    for k in range(s.dependencies.shape[0]):
                        # What is asked of it goes on like this: where nothing had to recover, that is all there is.
                        r = s.depend[k]
                        r.peak_attempts_per_min = max(r.peak_attempts_per_min, s.dependencies[k].attempts)
                    break
                change_at = min(now + first_change(p, s, holds, place), min(grows_until, holds_until))
                stale = grows_until < np.inf

            if cuts >= MOST_CUTS or cell_end - change_at < TINY * step:
                dt, place = cell_end - now, float(after)
            else:
                dt, place = change_at - now, (change_at - t0) * inv
            for k in range(s.dependencies.shape[0]):
                stale |= move_dependency(p, s, k, dt, plan.stage >= 2)
            move_pools(p, s, dt)
            for line in range(p.lanes.shape[0]):
                stale |= move_lane(p, s, line, after - 1, place, dt)
            tally(p, s, dt)
            if holds:
                plan.calm += dt
            if not seen.healthy and 1 < plan.stage < NORMAL:
                plan.trouble += dt
            now += dt

        if course.shape[0] > 0:
            last = after
            write_row(p, s, course, others, last, now)
        if waits.shape[0] > 0:
            last = after
            note_waiting(waits, i, after, s)
        if overall.over:
            break
        if after == check:
            check += period
            marks += 1
            mark_losses(p, s, period * step)
            again = repeats(p, s)
            if again and marks > 2 and cell_end >= p.last_course:
                overall.end_min, overall.never = cell_end, True
                overall.holds_from_min = cell_end - period * step
                break
    for u in range(s.queues.shape[0]):
        r = s.results[u]
        r.arrived = r.superseded - p.queues[u].backlog_before
        r.live_at_end = r.sidelined_at_end = 0.0
        for line in range(p.first_lane[u], p.first_lane[u + 1]):
            w = s.lanes[line]
            r.arrived += w.known
            r.live_at_end += w.known - w.gone
            r.sidelined_at_end += w.side_in - w.side_out
    overall.last = last


@njit(cache=True, error_model="numpy", nogil=True)
def simulate(
    step, points, t0, base_t0, outage_min, bases, at_trigger, first_rates, outages, begins, direct, surge, lanes, first_lane,
    calls, per_item, course_first, course_starts, course_values, queues, dependencies, pools, fleets, scalers, admission,
    holds, settled, period, states, results, bounds, depend, lowest, begun, overall, course, others, waits,
):  # fmt: skip
    """Simulate every draw; fill ``results``, ``bounds``, ``depend``, ``lowest``, ``begun``, ``overall`` and what is to be kept.

    ``bases``: (queues, points) cumulative base arrivals on a grid of ``step`` minutes from ``base_t0`` on, for an outage of
    ``outage_min``; a draw's own grid has ``points`` from ``t0`` on. ``begins``: whether consumers run from the trigger on.
    ``settled``: (draws,) steps after the restore from which on arrivals repeat every ``period`` steps; 0 if they do not.
    Records are of shape (draws, ...), ``begun`` (draws, 9). ``course``: (points, queues) for one draw, or empty; ``others``
    (points, columns): attempts and state of each dependency, each fleet in service, the admission step. ``waits``: (draws,
    points, queues) or no draws. ``states`` are zero records of each kind.
    """
    nq, nl, nk, nf = queues.shape[1], lanes.shape[0], dependencies.shape[1], fleets.shape[1]
    curves, side_curves = np.zeros((nl, points)), np.zeros((nl, points))
    stacks = 0
    for d in range(outages.shape[0]):
        for u in range(nq):
            if queues[d, u].stack:
                stacks = points
    stack = np.zeros((nl, stacks))
    asked, jump, when, pace = (
        np.zeros((nf, points)),
        np.zeros((nf, points)),
        np.zeros((nf, points)),
        np.zeros((nf, points)),
    )
    ring = 1
    for u in range(nq):
        ring = max(ring, RING if scalers[u].on else 1)
    starts, wishes, moves = np.zeros((nq, ring, 2)), np.zeros((nq, ring, 2)), np.zeros((nq, ring, 2))
    mark_q, mark_k, mark_p, mark_f = (
        np.zeros((nl, 2)),
        np.zeros((nk, 5)),
        np.zeros(pools.shape[1]),
        np.zeros(nf + nq + 6),
    )
    none, keeps = np.zeros((0, nq)), waits.shape[0] > 0
    steady = np.zeros(bases.shape[1], dtype=np.int64)
    find_steady(bases, direct, steady)
    last_course = -np.inf
    for place in range(course_starts.shape[0]):
        last_course = max(last_course, course_starts[place])
    restore_at = round(-t0 / step)
    lane_states, queue_states, dependency_states, pool_states, fleet_states, scaler_states, plan, seen = states
    for d in range(outages.shape[0]):
        trigger = -outages[d]
        begin_at = restore_at
        if begins:
            begin_at = min(restore_at, max(0, int(np.ceil((trigger - t0) / step - TINY))))
        # The trigger is where it was: a longer outage moves the restore.
        place = (t0 + outages[d] - outage_min - base_t0) / step
        if abs(place - round(place)) < 1e-9:
            place = float(round(place))
        fixed = Fixed(
            step, t0, 1.0 / step, restore_at, begin_at, trigger, place, last_course, bases, at_trigger, first_rates, steady,
            direct, surge, lanes, first_lane, calls, per_item, course_first, course_starts, course_values, queues[d],
            dependencies[d], pools[d], fleets[d], scalers, admission, holds,
        )  # fmt: skip
        moving = Moving(
            curves, side_curves, stack, asked, jump, when, pace, lane_states, queue_states, dependency_states, pool_states,
            fleet_states, scaler_states, starts, wishes, moves, plan, seen, mark_q, mark_k, mark_p, mark_f, results[d],
            bounds[d], depend[d], lowest[d], begun[d], overall[d : d + 1],
        )  # fmt: skip
        run_draw(fixed, moving, settled[d], period, course, others, waits[d] if keeps else none)
