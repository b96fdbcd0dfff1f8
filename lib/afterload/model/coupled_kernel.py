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

from afterload.model.coupled_records import Launch, Memory, record

__all__ = ["Draw", "cap_rate", "simulate"]

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
LAUNCH, MEMORY = record(Launch), record(Memory)
# Places of BOUNDS.
SERVICE, FLEET, COURSE, CAP, RESERVED, CONSUMERS, POOL, SCALER, BATCHES, RAMP, ADMISSION, DEPENDENCY = range(1, 13)

# Only ``simulate`` makes arrays and is kept on disk. What it calls need not count references to them, which would take half of
# the time, and is inlined: the tuples of arrays cost more to pass than to use.
compiled = njit(  # type: ignore[call-overload]
    error_model="numpy", _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


class Draw(NamedTuple):
    """A draw: what it is given, what it carries and what comes of it are fields of one record for each thing."""

    draw: np.void
    queues: np.ndarray
    dependencies: np.ndarray
    pools: np.ndarray
    fleets: np.ndarray
    lanes: np.ndarray
    scalers: np.ndarray
    calls: np.ndarray
    steps: np.ndarray  # of courses
    bases: np.ndarray  # cumulative base arrivals of each queue
    steady: np.ndarray
    direct: np.ndarray
    curves: np.ndarray  # by lane: arrivals, what has been set aside, and the cells of a stack
    launches: np.ndarray
    memory: np.ndarray  # of autoscalers


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
def course_value(steps, item, now):
    """The value of the course of a queue or dependency; 1 before its first step, and for none."""
    value = 1.0
    for step in steps[item.first_step : item.end_step]:
        if step.start > now + TINY:
            break
        value = step.value
    return value


@compiled
def course_next(steps, item, now):
    """When that changes next; infinite if it does not."""
    for step in steps[item.first_step : item.end_step]:
        if step.start > now + TINY:
            return step.start
    return np.inf


# Arrivals, and the outage.


@compiled
def fill_curve(s, w):
    """Cumulative arrivals of a lane on the grid. What waited at the trigger came before it at the first rate."""
    draw = s.draw
    q, curves = s.queues[w.queue], s.curves
    points = curves.shape[1]
    share = w.arrival_share
    first = min(points, max(0, int(np.ceil((draw.trigger - draw.t0) * draw.inv - TINY))))
    rate = q.arrivals * q.first_rate
    for i in range(first):
        before = q.backlog_before - rate * (draw.trigger - draw.t0 - i * draw.step)
        curves[w.row, i] = share * max(0.0, before) if rate > 0.0 else 0.0
    shift = q.backlog_before - q.arrivals * q.at_trigger
    exact = draw.place == np.floor(draw.place)
    offset = int(draw.place)
    for i in range(first, points):
        base = s.bases[w.queue, i + offset] if exact else value_at(s.bases, w.queue, i + draw.place, 0.0)
        curves[w.row, i] = share * (shift + q.arrivals * base)
    if q.rejects_in_outage:
        refused = curves[w.row, draw.restore_at] - share * q.backlog_before
        for i in range(first, points):
            curves[w.row, i] = max(share * q.backlog_before, curves[w.row, i] - refused)


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
def remove_too_old(s, w):
    """Some of what waited at the trigger may have been too old already. It had come at the rate of the trigger."""
    q = s.queues[w.queue]
    before = q.backlog_before * w.arrival_share
    limit, kind = age_limit(q, False)
    if limit < NO_LIMIT and before > 0.0:
        w.gone = max(0.0, before - limit * w.early * s.draw.inv)
        count_removed(q, kind, w.gone)


@compiled
def outage(s, w, i):
    """Arrivals, partial service, dead letters and expiry in one step up to where consumers run again."""
    draw = s.draw
    q = s.queues[w.queue]
    now = draw.t0 + (i + 1) * draw.step
    known = s.curves[w.row, i + 1]
    served = q.served_in_outage_per_min * w.service_share
    after = min(w.gone + served * min(draw.step, now - draw.trigger), known)
    q.served += after - w.gone
    # An item is dead-lettered when its last delivery fails.
    dt = min(draw.step, now - draw.trigger - (q.max_receives - 1.0) * q.redelivery_min)
    if q.receives_in_outage and dt > 0.0:
        deliveries = failing_deliveries(q, own_rate(q)) * w.service_share
        dead = min(known - after, min(deliveries, (known - after) / q.redelivery_min) / q.max_receives * dt)
        q.dead_lettered += dead
        after += dead
    limit, kind = age_limit(q, False)
    if limit < NO_LIMIT:
        floor = value_at(s.curves, w.row, i + 1 - limit * draw.inv, w.early)
        if floor > after:
            count_removed(q, kind, floor - after)
            after = floor
    w.known, w.gone = known, after


@compiled
def supersede(s, w):
    """At the restore, drop the superseded share of what waits, evenly over its ages."""
    draw = s.draw
    curves = s.curves
    q = s.queues[w.queue]
    waiting = curves[w.row, draw.restore_at] - w.gone
    q.backlog_at_restore += waiting
    share = q.superseded_share
    if share > 0.0:
        q.superseded += share * waiting
        w.early *= 1.0 - share
        for i in range(draw.restore_at):
            if curves[w.row, i] > w.gone:
                curves[w.row, i] -= share * (curves[w.row, i] - w.gone)
        for i in range(draw.restore_at, curves.shape[1]):
            curves[w.row, i] -= share * waiting
    w.known = curves[w.row, draw.restore_at]
    w.scale = TINY * (w.known + q.service_rate_per_min * w.service_share)


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
def count_removed(q, kind, items):
    """Count what an age limit removed."""
    if kind == 0:
        q.expired += items
    elif kind == 1:
        q.lost_to_retention += items
    else:
        q.discarded_past_deadline += items


@compiled
def aside_by(s, w, place, sideline, now):
    """Of the work set aside by the place ``now``, what had arrived by a place of the grid; ``sideline`` in steps."""
    crossed = place + sideline
    if crossed <= s.draw.restore_at:
        return min(w.side_first, max(0.0, value_at(s.curves, w.row, place, w.early) - w.side_base))
    # What arrived by then and has not been set aside yet is not part of it, and what has been had all arrived by then.
    return value_at(s.curves, w.aside_row, crossed, 0.0) if crossed < now else w.side_in


@compiled
def push(s, w, cell, items):
    """Put items that arrived in a cell of the grid on a stack. In a cell they lie evenly from its ``cut`` to its ``crest``."""
    if w.bottom > w.top:
        w.bottom, w.cut = cell, 0.0
    there = 0.0
    if cell == w.top:
        there = s.curves[w.stack_row, cell] * (w.crest - (w.cut if cell == w.bottom else 0.0))
    for between in range(w.top + 1, cell):
        s.curves[w.stack_row, between] = 0.0
    if w.top >= w.bottom and w.top < cell:
        s.curves[w.stack_row, w.top] *= w.crest
    s.curves[w.stack_row, cell] = (there + items) / (1.0 - w.cut if cell == w.bottom and w.cut < 1.0 else 1.0)
    w.top, w.crest = cell, 1.0


@compiled
def pop(s, w, items):
    """Take items from the new end of a stack."""
    while items > 0.0 and w.top >= w.bottom:
        there = s.curves[w.stack_row, w.top] * (w.crest - (w.cut if w.top == w.bottom else 0.0))
        if there > items:
            w.crest -= items / s.curves[w.stack_row, w.top]
            return
        items -= there
        w.top -= 1
        w.crest = 1.0


@compiled
def drop_old(s, w, edge):
    """Take what arrived before a place of the grid from the old end of a stack; gives how much that is."""
    gone = 0.0
    while w.bottom <= w.top and edge > w.bottom + w.cut:
        end = w.crest if w.bottom == w.top else 1.0
        until = min(end, edge - w.bottom)
        gone += s.curves[w.stack_row, w.bottom] * max(0.0, until - w.cut)
        if until < end:
            w.cut = until
            break
        w.bottom += 1
        w.cut = 0.0
    return gone


@compiled
def set_aside(s, w, place, limit):
    """Move work that has become old to the second queue, unless an age limit removes it before it is that old."""
    q = s.queues[w.queue]
    if not (q.fresh_first and q.sideline_after_min < limit):
        return False
    edge = value_at(s.curves, w.row, place - q.sideline_after_min * s.draw.inv, w.early)
    if edge > w.gone:
        if q.stack:
            first = w.gone
            cell = min(max(0, int(np.ceil(place - TINY)) - 1), s.curves.shape[1] - 1)
            for i in range(max(w.top + 1, 0 if w.side_in <= 0.0 else cell - 1), cell):
                last = min(edge, s.curves[w.row, i + 1])
                if last > first:
                    push(s, w, i, last - first)
                    first = last
            if edge > first:
                push(s, w, cell, edge - first)
        w.side_in += edge - w.gone
        w.gone = edge
    return True


@compiled
def discard(s, w, place, spare):
    """Discard what is past its deadline now that its turn has come, which takes no time."""
    q = s.queues[w.queue]
    limit, kind = age_limit(q, True)
    if kind != 2:
        return
    floor = value_at(s.curves, w.row, place - limit * s.draw.inv, w.early)
    if floor > w.gone:
        q.discarded_past_deadline += floor - w.gone
        w.gone = floor
    if spare and w.side_in > w.side_out:
        if not q.stack:
            q.discarded_past_deadline += old_aside(s, w, place, limit)
        elif w.top + w.crest <= place - limit * s.draw.inv + TINY:
            # The newest is too old, and so is all below it.
            drop_old(s, w, w.top + 1.0)
            q.discarded_past_deadline += w.side_in - w.side_out
            w.side_out = w.side_in


@compiled
def old_aside(s, w, place, limit):
    """Take what is older than a limit from what is set aside; gives how much that is."""
    draw = s.draw
    q = s.queues[w.queue]
    if q.stack:
        gone = min(drop_old(s, w, place - limit * draw.inv), w.side_in - w.side_out)
    else:
        edge = aside_by(s, w, place - limit * draw.inv, q.sideline_after_min * draw.inv, place)
        gone = max(0.0, edge - w.side_out)
    w.side_out += gone
    return gone


# Fleets.


@compiled
def launched_by(s, g, at):
    """Instances asked for by a time, and how many a minute more; and when that changes next."""
    draw, launches = s.draw, s.launches[g.row]
    cell = int(np.floor((at - draw.t0) * draw.inv + TINY))
    if cell < draw.restore_at:
        return 0.0, 0.0, 0.0
    if cell >= launches.shape[0] - 1:
        return launches[launches.shape[0] - 1].asked, 0.0, np.inf
    here, following = launches[cell], launches[cell + 1].asked
    edge = draw.t0 + (cell + 1) * draw.step
    if at < here.when - TINY:
        return here.asked, 0.0, min(edge, here.when)
    level = here.asked + here.jump + here.pace * (at - here.when)
    left = following - level
    if left <= TINY or here.pace <= 0.0:
        return following, 0.0, edge
    return level, here.pace, min(edge, at + left / here.pace)


@compiled
def move_fleet(s, g, i, now, removing):
    """Removals and launches of one step of the grid; tells whether the fleet may serve more or less now."""
    if g.settled:
        return False
    step, here, following = s.draw.step, s.launches[g.row, i], s.launches[g.row, i + 1]
    impaired = min(step, max(0.0, g.launches_from_min - now))
    if i == s.draw.restore_at:
        here.asked = 0.0
    following.asked = here.asked
    here.jump = here.pace = 0.0
    here.when = now
    started, _, _ = launched_by(s, g, now - g.start_delay_min)
    g.removed += g.removal * step
    serving = g.running - g.removed + started
    g.removal, g.since = 0.0, now
    if removing and g.automation_active:
        left = max(min(serving, g.removal_floor), serving - g.removal_per_min * impaired)
        g.removal = (serving - left) / step
        serving = left
    here.when = now + impaired
    if impaired < step:
        missing = max(0.0, g.needed - serving - (here.asked - started))
        here.jump = min(missing, min(g.bucket, g.requests))
        available = g.bucket + g.launch_per_min * (step - impaired)
        requested = g.requests + g.request_per_min * (step - impaired)
        most = min(available, requested)
        asked = min(missing, most)
        here.pace = (most - here.jump) / (step - impaired) if most < NO_LIMIT else 0.0
        g.bucket = min(g.launch_burst, available - asked)
        g.requests = min(g.request_burst, requested - asked)
        following.asked = here.asked + asked
    is_whole = serving >= g.needed * (1.0 - TINY) and following.asked - started <= TINY
    g.settled = impaired <= 0.0 and is_whole and g.full
    return True


@compiled
def serve_with(s, g, now, cell_end):
    """What share of a fleet serves from now on, and until when."""
    level, pace, until = launched_by(s, g, now - g.start_delay_min)
    until = min(cell_end, until + g.start_delay_min)
    whole = np.floor(level + 1e-6)
    end = whole
    if pace > 0.0:
        if pace * s.draw.step <= FEW:
            until = min(until, now + max((whole + 1.0 - level) / pace, 1e-6 * s.draw.step))
        else:
            end = level + pace * (until - now)
            whole = 0.5 * (level + end)
    kept = g.running - g.removed + g.removal * g.since
    serving = max(0.0, kept - g.removal * 0.5 * (now + until) + whole)
    g.serving = max(0.0, kept - g.removal * until + end)
    g.share = min(1.0, serving / g.needed) if g.needed > 0.0 else 1.0
    g.full = serving >= g.needed - 0.5
    return until


# Autoscalers.


@compiled
def start_replicas(s, q, now):
    """Let the replicas serve whose time has come; gives when the next one does."""
    a, memory = s.scalers[q.row], s.memory[q.row]
    following, kept = np.inf, 0
    for place in range(a.pending):
        one = memory[place]
        if one.start <= now + TINY:
            a.serving += one.starting
        else:
            memory[kept].start, memory[kept].starting = one.start, one.starting
            following = min(following, one.start)
            kept += 1
    a.pending = kept
    return following


@compiled
def changed_in(a, memory, since):
    """Replicas added and removed after a time."""
    added, taken = 0.0, 0.0
    for place in range(max(0, a.moves - RING), a.moves):
        one = memory[place % RING]
        if one.moved > since + TINY:
            added += max(0.0, one.move)
            taken += max(0.0, -one.move)
    return added, taken


@compiled
def wish(a, q, age):
    """Replicas that the metric asks for now."""
    if a.wanted <= 0.0:
        return 0.0
    if a.metric == 0:
        ratio = q.waiting / (a.target * a.wanted)
    elif a.metric == 1:
        ratio = age / a.target
    else:
        ratio = q.busy / a.target
        if ratio > 1.0 + a.tolerance and a.serving < a.wanted:
            # Those that do not serve yet count as idle.
            ratio *= a.serving / a.wanted
            if ratio < 1.0:
                return a.wanted
    if abs(ratio - 1.0) <= a.tolerance + TINY:
        return a.wanted
    return np.ceil(a.wanted * ratio - 1e-6)


@compiled
def look_at_replicas(s, q, now, age):
    """One look of an autoscaler: what it wants, within its windows and policies."""
    a, memory = s.scalers[q.row], s.memory[q.row]
    wanted = min(a.most, max(a.least, wish(a, q, age)))
    memory[a.wishes % RING].looked, memory[a.wishes % RING].wish = now, wanted
    a.wishes += 1
    up = down = wanted
    for place in range(max(0, a.wishes - RING), a.wishes):
        one = memory[place % RING]
        if one.looked > now - a.up_window_min + TINY or one.looked == now:
            up = min(up, one.wish)
        if one.looked > now - a.down_window_min + TINY or one.looked == now:
            down = max(down, one.wish)
    steady = min(down, max(up, a.wanted))
    if steady > a.wanted:
        added, taken = changed_in(a, memory, now - a.up_period_min)
        base = a.wanted - added + taken
        steady = min(
            steady, max(a.wanted, max(base + a.up_replicas, np.ceil(base * (1.0 + 0.01 * a.up_percent) - TINY)))
        )
    elif steady < a.wanted:
        added, taken = changed_in(a, memory, now - a.down_period_min)
        base = a.wanted - added + taken
        least = min(base - a.down_replicas, np.floor(base * (1.0 - 0.01 * a.down_percent) + TINY))
        steady = max(steady, min(a.wanted, least))
    steady = min(a.most, max(a.least, steady))
    more = steady - a.wanted
    if more == 0.0:
        return False
    memory[a.moves % RING].moved, memory[a.moves % RING].move = now, more
    a.moves += 1
    if more > 0.0:
        soon = min(more, max(0.0, a.fits_on_nodes - a.wanted))
        for late in range(2):
            count = more - soon if late else soon
            if count > 0.0 and a.pending < RING:
                memory[a.pending].start = now + a.start_min + late * a.node_min
                memory[a.pending].starting = count
                a.pending += 1
    else:
        fewer = -more
        while fewer > 0.0 and a.pending > 0:
            count = min(fewer, memory[a.pending - 1].starting)
            memory[a.pending - 1].starting -= count
            fewer -= count
            if memory[a.pending - 1].starting <= 0.0:
                a.pending -= 1
        a.serving = max(0.0, a.serving - fewer)
    a.wanted = steady
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
def bound_queue(s, q, now, stage):
    """The least of what bounds the consumers of a queue together, but for ramp and batches."""
    limit, bound = q.service_rate_per_min, SERVICE
    if q.in_service < 1.0:
        limit, bound = limit * q.in_service, FLEET
    share = course_value(s.steps, q, now)
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
    a = s.scalers[q.row]
    if a.on and a.serving * a.rate_each_per_min < limit:
        limit, bound = a.serving * a.rate_each_per_min, SCALER
    q.free = own_rate(q)
    room = q.room
    if stage < 4:
        room = held_to(q, min(s.draw.floor_share * q.free, share_of(s, q, False)), 0.0)
    if room < limit:
        limit, bound = room, ADMISSION
    q.limit, q.bound = limit, bound


@compiled
def set_rate(w, q, restored, now):
    """What the consumers of a lane can do from now on, and how that grows; gives the minutes for which it grows."""
    share = w.service_share
    limit, w.bound = q.limit * share, q.bound
    if w.batches_per_min < limit:
        limit, w.bound = w.batches_per_min, BATCHES
    alone, slope = np.inf, 0.0
    if restored and q.ramp_start < NO_LIMIT:
        alone, slope = (q.ramp_start + q.ramp_slope * now) * share, q.ramp_slope * share
        if q.ramp_top * share < limit:
            limit, w.bound = q.ramp_top * share, RAMP
    free = min(q.free * share, min(alone, w.batches_per_min))
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
def set_demand(draw, w, span):
    """What the consumers of a lane take."""
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
    if draw.restored and draw.stage >= 5 and w.side_in - w.side_out > w.scale:
        spare = mean - w.live
        w.side = spare if spare > TINY * mean else 0.0
        if draw.stage < NORMAL:
            w.side = min(w.side, draw.replay_share * mean)


# Dependencies.


@compiled
def slowed(w, q, failing, timed):
    """Live and sidelined work that consumers take when a share of it fails; ``timed``: failures take a time-out.

    Consumers are a closed loop: who waits for a time-out or a backoff takes nothing else.
    """
    if q.item_min <= 0.0 or failing <= 0.0:
        return w.live, w.side
    more = q.backoff_min * (q.attempts - 1.0) / (q.attempts_failing - 1.0) if q.attempts_failing > 1.0 else 0.0
    if timed:
        more += q.attempts * q.timeout_min
    factor = q.item_min / (q.item_min + failing * more)
    if w.waits:
        return w.live * factor, w.side * factor
    # Who keeps up has time to spare.
    able = max(w.rate, w.live + w.side) * factor
    live = min(w.live, able)
    return live, min(w.side, able - live)


@compiled
def add_loads(s):
    """What is asked of every dependency, in requests and in attempts, while calls succeed and while they fail.

    In series a call sees what those before it serve.
    """
    for x in s.dependencies:
        x.load = x.slow = x.base
        x.failing = x.each * x.base
    for w in s.lanes:
        q, reach = s.queues[w.queue], 1.0
        live, side = slowed(w, q, 1.0, True)
        for call in s.calls[q.first_call : q.end_call]:
            x, calls = s.dependencies[call.dependency], call.per_item * reach
            x.load += calls * (w.live + w.side)
            x.slow += calls * (live + side)
            x.failing += calls * (live + side) * q.attempts
            if not q.fan_out:
                reach *= x.passing


@compiled
def asked_of(s, x, passing, timed):
    """Requests and attempts at a dependency that serves such a share of them."""
    requests = x.base
    attempts = x.base * x.each
    for w in s.lanes:
        q, reach = s.queues[w.queue], 1.0
        for call in s.calls[q.first_call : q.end_call]:
            if call.dependency == x.row:
                live, side = slowed(w, q, 1.0 - passing, timed)
                calls = call.per_item * reach * (live + side)
                requests += calls
                attempts += calls * q.attempts
            if not q.fan_out:
                reach *= s.dependencies[call.dependency].passing
    return requests, attempts


@compiled
def share_served(s, x, most, timed):
    """What share of the requests is served if so many a minute can be: consumers take less the more of them fail."""
    low, high = 0.0, 1.0
    requests, _ = asked_of(s, x, 1.0, timed)
    if requests <= most:
        return 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        requests, _ = asked_of(s, x, middle, timed)
        if requests * middle > most:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@compiled
def judge(s, x, now):
    """Whether a dependency is down or rejects, given its load. It goes down over its capacity, and heals when attempts fit in
    again and those in flight are worked off."""
    capacity = x.capacity
    x.working_off = 0.0
    counts = x.failing if x.collapsed else x.load
    if capacity > 0.0:
        x.margin_share = min(x.margin_share, abs(counts / capacity - 1.0))
    limit = x.throttle_per_min if x.collapses else min(x.throttle_per_min, capacity)
    saturated = False
    if not x.collapsed and x.collapses and x.load + x.burst > capacity * (1.0 + TINY):
        if x.burst > 0.0 or x.failing > capacity * (1.0 + TINY):
            x.collapsed = True
            x.fresh_flight = x.burst > 0.0
            x.healed_at_min = -1.0
        else:
            # Consumers that wait for answers hold themselves back: it works at its capacity.
            saturated = True
            limit = min(limit, capacity)
    if x.collapsed:
        x.passing, x.attempts, x.served, x.queue_share = 0.0, x.failing, 0.0, 0.0
        if x.goodput_share > 0.0:
            x.passing = share_served(s, x, x.goodput_share * capacity, True)
            requests, x.attempts = asked_of(s, x, x.passing, True)
            x.served = x.passing * requests
            # Control and direct traffic go first, and queues share what is left by what they ask.
            asked = requests - x.base
            x.queue_share = min(1.0, max(0.0, x.served - x.base) / asked) if asked > 0.0 else 0.0
        if x.attempts > capacity * (1.0 + TINY):
            x.in_flight = x.attempts * x.timeout_min
            x.fresh_flight = False
            return
        if x.fresh_flight:
            x.in_flight = max(capacity, x.attempts) * x.timeout_min
            x.fresh_flight = False
        x.working_off = capacity - x.attempts
        if x.in_flight > TINY * capacity and x.working_off > TINY * capacity:
            return
        x.collapsed = False
        x.working_off = x.in_flight = 0.0
        x.healed_at_min = now
        if x.collapses and x.load > capacity * (1.0 + TINY):
            saturated = True
            limit = min(limit, capacity)
    x.passing, x.attempts, x.served = 1.0, x.load, x.load
    if x.load > limit * (1.0 + TINY):
        x.passing = share_served(s, x, limit, False)
        requests, _ = asked_of(s, x, x.passing, False)
        x.served = x.attempts = min(limit, requests)
        if not saturated and x.passing < 1.0:
            tries = x.failing / x.slow if x.slow > 0.0 else 1.0
            x.attempts = limit / (1.0 - (1.0 - x.passing) ** (1.0 / tries)) if x.passing > 0.0 else x.failing
            if x.collapses and x.attempts > capacity * (1.0 + TINY):
                x.collapsed = True
                x.healed_at_min = -1.0
                x.passing, x.attempts, x.served, x.queue_share = 0.0, x.failing, 0.0, 0.0
                x.in_flight = x.attempts * x.timeout_min


@compiled
def share_out(s):
    """What succeeds where a dependency does not serve all: in a collapse control traffic first, then fresh, then the same share
    of all queues; where it rejects, the same share of all."""
    for x in s.dependencies:
        x.fresh_ok = x.fresh
        if x.collapsed:
            x.fresh_ok = min(x.fresh, max(0.0, x.served - (x.base - x.fresh)))
        elif x.passing < 1.0:
            x.fresh_ok = x.fresh * x.passing
    for w in s.lanes:
        q, passing, timed = s.queues[w.queue], 1.0, False
        for call in s.calls[q.first_call : q.end_call]:
            x = s.dependencies[call.dependency]
            passing *= x.passing
            timed |= x.collapsed
        if passing >= 1.0 and not timed:
            continue
        w.fails, w.timed = True, timed
        live, side = slowed(w, q, 1.0 - passing, timed)
        w.live_ok, w.side_ok = live, side
        for call in s.calls[q.first_call : q.end_call]:
            x = s.dependencies[call.dependency]
            share = x.queue_share if x.collapsed else x.passing
            w.live_ok *= share
            w.side_ok *= share
        w.live_fails, w.side_fails = live - w.live_ok, side - w.side_ok


@compiled
def charge_pools(s):
    """What failing requests take from the quotas of those who make them, and what successes bring back."""
    for pool in s.pools:
        pool.burn = pool.earn = 0.0
    for x in s.dependencies:
        pool = s.pools[x.row]
        if x.collapsed or x.passing < 1.0:
            pool.burn += (x.each - 1.0) * x.base * (1.0 if x.collapsed else 1.0 - x.passing)
        else:
            pool.earn += x.base
    for w in s.lanes:
        q = s.queues[w.queue]
        if q.pool < 0:
            continue
        pool, calls = s.pools[q.pool], 0.0
        for call in s.calls[q.first_call : q.end_call]:
            calls += call.per_item
        if not w.fails:
            pool.earn += calls * (w.live + w.side)
        else:
            failing = w.live_fails + w.side_fails
            if w.timed:
                # In a collapse every request is tried so often, those that succeed in the end too.
                failing += w.live_ok + w.side_ok
            pool.burn += (q.attempts - 1.0) * calls * failing


@compiled
def move_dependency(s, x, dt, fills):
    """Cache, flights and tallies of a stretch; tells whether the load changes by itself."""
    if dt > TINY * s.draw.step:
        x.peak_attempts_per_min = max(x.peak_attempts_per_min, x.attempts)
    x.direct += (x.fresh + x.held) * dt
    x.shed += x.held * dt
    x.direct_served += x.fresh_ok * dt
    x.failed_direct += (x.fresh - x.fresh_ok) * dt
    if x.collapsed:
        x.time_collapsed_min += dt
        if x.working_off > 0.0:
            left = x.in_flight - x.working_off * dt
            x.in_flight = left if left > TINY * x.capacity else 0.0
            return x.in_flight <= 0.0
        return False
    if x.control_left > 0.0:
        left = x.control_left - x.control_catch_up_per_min * dt
        x.control_left = left if left > TINY * x.control_backlog else 0.0
        if x.control_left <= 0.0:
            return True
    if fills and x.cache_fill_min > 0.0 and x.hit != x.hit_at_rest:
        x.hit = x.hit_at_rest + (x.hit - x.hit_at_rest) * np.exp(-dt / x.cache_fill_min)
        return True
    return False


@compiled
def move_pools(s, dt):
    """Quotas after a stretch."""
    for pool in s.pools:
        if pool.burn > 0.0:
            if not pool.limited and pool.tokens < NO_LIMIT:
                left = pool.tokens - pool.burn * dt
                pool.tokens = left if left > TINY * pool.retry_tokens else 0.0
        elif pool.earn > 0.0:
            pool.tokens = min(pool.retry_tokens, pool.tokens + pool.earn * pool.refill_per_success * dt)


# Queues.


@compiled
def time_to_clear_stack(s, w, place):
    """Minutes until a stack is empty, or its newest item past its deadline: served from one end, it ages at the other."""
    draw = s.draw
    q = s.queues[w.queue]
    ageing, wait = 0.0, np.inf
    if w.bottom <= w.top:
        limit, _ = age_limit(q, False)
        if limit < NO_LIMIT and place - limit * draw.inv >= w.bottom:
            ageing = s.curves[w.stack_row, w.bottom] * draw.inv
        if q.deadline_min < NO_LIMIT and s.curves[w.stack_row, w.top] > 0.0:
            gap = w.top + w.crest - place + q.deadline_min * draw.inv
            in_cell = w.crest * s.curves[w.stack_row, w.top] / w.side
            wait = max(TINY * draw.step, min(gap / (draw.inv + w.side / s.curves[w.stack_row, w.top]), in_cell))
    return min(wait, (w.side_in - w.side_out) / (w.side + ageing))


@compiled
def time_to_change(s, w, place):
    """Minutes until one of the two queues of a lane runs empty at the rates of this stretch."""
    q = s.queues[w.queue]
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
        return time_to_clear_stack(s, w, place) if q.stack else side / w.side
    return np.inf


@compiled
def time_to_outpace(s, w, place):
    """Minutes until a ramp serves faster than work becomes too old to wait where it does, if it does not yet."""
    draw = s.draw
    q = s.queues[w.queue]
    limit, _ = age_limit(q, True)
    aside = q.sideline_after_min * draw.inv
    if w.waits:
        if q.fresh_first:
            limit = min(limit, q.sideline_after_min)
        if limit >= NO_LIMIT:
            return np.inf
        old = place - limit * draw.inv
        ageing = (value_at(s.curves, w.row, old + 1.0, w.early) - value_at(s.curves, w.row, old, w.early)) * draw.inv
        rate = w.rate
    elif w.side > 0.0 and limit < NO_LIMIT and not q.stack:
        old = place - limit * draw.inv
        later = aside_by(s, w, old + 1.0, aside, place)
        ageing = (later - aside_by(s, w, old, aside, place)) * draw.inv
        rate = w.rate - w.coming
    else:
        return np.inf
    wait = (ageing - rate) / w.slope
    return wait if wait > TINY else np.inf


@compiled
def move_lane(s, w, i, place, dt):
    """Service, dead letters, sidelining and expiry of a stretch that ends at ``place``, in step ``i`` of the grid.

    Tells whether the lane may now take another course than its rates say.
    """
    q = s.queues[w.queue]
    removed = False
    known = s.curves[w.row, i + 1] if place == i + 1 else w.known + w.coming * dt
    mean = w.rate + 0.5 * w.slope * dt
    side_waiting = w.side_in - w.side_out
    dead_side = 0.0
    if w.fails:
        live, side = w.live_ok * dt, min(w.side_ok * dt, side_waiting)
        if q.max_receives < NO_LIMIT:
            dead = min(w.live_fails / q.max_receives * dt, max(0.0, known - w.gone - live))
            dead_side = min(w.side_fails / q.max_receives * dt, side_waiting - side)
            q.dead_lettered += dead + dead_side
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
    q.served += after - w.gone + side
    w.known, w.gone = known, after
    w.side_out += side
    if q.stack and side + dead_side > 0.0:
        pop(s, w, side + dead_side)
    aside = w.side_in
    restored = s.draw.restored
    limit, kind = age_limit(q, restored and mean > 0.0)
    if restored and set_aside(s, w, place, limit):
        s.curves[w.aside_row, i + 1] = w.side_in
        removed = w.waits and w.side_in > aside
        limit, kind = age_limit(q, w.side > 0.0 and not q.stack)
        if limit < NO_LIMIT and w.side_in > w.side_out:
            gone = old_aside(s, w, place, limit)
            if gone > 0.0:
                count_removed(q, kind, gone)
                removed = True
    else:
        s.curves[w.aside_row, i + 1] = w.side_in
        if limit < NO_LIMIT:
            floor = value_at(s.curves, w.row, place - limit * s.draw.inv, w.early)
            if floor > w.gone:
                count_removed(q, kind, floor - w.gone)
                w.gone = floor
                removed = True
    waits = w.known - w.gone > w.scale
    return removed or waits != w.waits


@compiled
def note_queue(s, q, now):
    """Keep when fresh age was back and the backlog gone, of all lanes; not if the system around it made it wait again."""
    draw = s.draw
    fresh, empty, again = True, True, False
    for w in s.lanes[q.first_lane : q.end_lane]:
        is_fresh = w.keeps_up and not w.fails
        fresh &= is_fresh
        empty &= is_fresh and w.side_in - w.side_out <= w.scale
        again |= w.held or w.fails
    draw.fresh &= fresh
    draw.empty &= empty
    if not draw.restored:
        draw.reached = False
        return
    if fresh:
        if q.fresh_age_back_min < 0.0:
            q.fresh_age_back_min = now
    elif again:
        q.fresh_age_back_min = -1.0
    if empty:
        if q.drain_min < 0.0:
            q.drain_min = now
    elif again:
        q.drain_min = -1.0
    draw.reached &= q.fresh_age_back_min >= 0.0 and q.drain_min >= 0.0


@compiled
def tally(s, dt):
    """Peaks, and for how long which bound was the least while work waited."""
    for q in s.queues:
        waiting, bound = 0.0, 0
        for w in s.lanes[q.first_lane : q.end_lane]:
            here = waiting_in(w)
            waiting += here
            if bound == 0 and here > w.scale:
                bound = DEPENDENCY if w.fails else w.bound
        q.waiting = waiting
        q.peak_backlog = max(q.peak_backlog, waiting)
        q.bounds[bound] += dt


@compiled
def note_losses(s, now, dt):
    """Keep from when on a queue loses at the rate at which it does."""
    if dt <= TINY * s.draw.step:
        return
    for q in s.queues:
        losses = q.expired + q.lost_to_retention + q.discarded_past_deadline + q.dead_lettered
        rate = (losses - q.losses) / dt
        if abs(rate - q.losing_rate) > 1e-6 * (1.0 + rate):
            q.losing_rate, q.lost_from_min = rate, now
        q.losses = losses


# The admission plan.


@compiled
def signal_holds(draw):
    """Whether the signal of an admission step holds: no dependency is down, and what the step itself waits for."""
    if not draw.healthy:
        return False
    if draw.stage == 2:
        return draw.warm
    if draw.stage == 3:
        return draw.within
    if draw.stage == 4:
        return draw.fresh
    if draw.stage == 5:
        return draw.empty
    if draw.stage == 7:
        return draw.full
    return True


@compiled
def change_step(s, holds, now):
    """Take the next admission step if its time has come, or fall back after a collapse. Gives 1, -1 or 0 for neither."""
    draw = s.draw
    begun, healthy = draw.begun, draw.healthy
    stage = draw.stage
    if not healthy and stage > 1 and draw.trouble >= draw.notice_min - TINY:
        draw.calm = 0.0
        back = 1
        if stage == 7 or (stage == 6 and draw.lift > 0.0):
            # What was lifted last goes first; if that does not heal it, the doors close at the same moment.
            back = 6
            draw.lift = 0.0
        else:
            draw.trouble = 0.0
            begun[1] = now
        draw.stage = back
        for later in range(back + 1, NORMAL + 1):
            begun[later] = -1.0
        return -1
    if holds and draw.calm >= draw.holds[stage - 1] - TINY:
        draw.calm = 0.0
        if stage == 6 and draw.lift < draw.lifts:
            draw.lift += 1.0
        else:
            draw.stage = stage + 1
            draw.lift = 1.0
            begun[stage + 1] = now
        return 1
    return 0


@compiled
def share_of(s, q, left):
    """What a queue gets of the room at its dependencies, by what their consumers can do and as a cap can be.

    ``left``: of what queues at rest leave.
    """
    room, own = np.inf, own_rate(q)
    for call in s.calls[q.first_call : q.end_call]:
        x = s.dependencies[call.dependency]
        among = x.draining if left else x.service
        if own <= 0.0:
            return 0.0
        if among > 0.0:
            room = min(room, (x.left if left else x.room) * own / among)
    return held_to(q, room, 0.0) if room < NO_LIMIT else room


@compiled
def look_for_rest(s, q, stage):
    """Whether a queue has nothing to drain in this step, and its share takes what arrives: others may have the rest."""
    q.at_rest, q.coming = True, 0.0
    for w in s.lanes[q.first_lane : q.end_lane]:
        q.coming += w.coming
        if w.known - w.gone > w.scale or (stage >= 5 and w.side_in - w.side_out > w.scale):
            q.at_rest = False
    if q.coming > share_of(s, q, False):
        q.at_rest = False


@compiled
def attempts_now(pool, failing, stage):
    """Attempts of a failing request of those whose retries a pool holds, as long as they do."""
    pool.limited = stage < NORMAL or pool.tokens <= 0.0
    return min(failing, pool.sustained_attempts) if pool.limited else failing


@compiled
def offer_direct(s, x, i, now):
    """Direct and control traffic of a dependency, its capacity, and what its drains may have."""
    draw = s.draw
    stage = draw.stage
    x.capacity = x.capacity_per_min * course_value(s.steps, x, now)
    fresh = x.fresh_per_min
    if s.direct.shape[2] > 0:
        base = min(s.direct.shape[2] - 1, max(0, i + int(np.floor(draw.place))))
        since = max(0, i - draw.restore_at)
        fresh = fresh * s.direct[0, x.row, base] + s.direct[1, x.row, since] * (i >= draw.restore_at)
    x.fresh = fresh * (1.0 - x.hit) / (1.0 - x.hit_at_rest)
    x.held = 0.0
    if stage < 3:
        x.held, x.fresh = x.fresh, 0.0
    control = x.control_per_min + (x.control_catch_up_per_min if x.control_left > 0.0 else 0.0)
    x.base = control + x.fresh
    x.each = attempts_now(s.pools[x.row], x.attempts_failing, stage)
    x.room = x.left = draw.drain_share * max(0.0, x.room_per_min - control - x.fresh)
    x.draining = x.service
    x.burst = 0.0


@compiled
def offer(s, i, now, cell_end):
    """Direct traffic, and what consumers can do; gives the time up to which that only grows, and that up to which it holds."""
    draw = s.draw
    stage, grows, until = draw.stage, np.inf, np.inf
    draw.full = True
    for g in s.fleets:
        if not g.settled:
            until = min(until, serve_with(s, g, now, cell_end))
        g.lowest = min(g.lowest, g.serving)
        draw.full &= g.full
    for x in s.dependencies:
        offer_direct(s, x, i, now)
        until = min(until, course_next(s.steps, x, now))
    holds_back = 4 <= stage < 7
    for q in s.queues:
        until = min(until, course_next(s.steps, q, now))
        q.in_service = s.fleets[q.fleet].share if q.fleet >= 0 else 1.0
        q.attempts = q.attempts_failing
        if q.pool >= 0:
            q.attempts = attempts_now(s.pools[q.pool], q.attempts, stage)
        if holds_back:
            look_for_rest(s, q, stage)
            if q.at_rest:
                for call in s.calls[q.first_call : q.end_call]:
                    x = s.dependencies[call.dependency]
                    x.left -= q.coming * call.per_item
                    x.draining -= own_rate(q) * call.per_item
    for q in s.queues:
        q.room = np.inf
        if holds_back and q.end_call > q.first_call:
            q.room = share_of(s, q, not q.at_rest)
            if stage == 6:
                q.room = held_to(q, q.room, draw.lift / draw.lifts)
        if s.scalers[q.row].on:
            until = min(until, min(start_replicas(s, q, now), s.scalers[q.row].next_sync))
        bound_queue(s, q, now, stage)
        for w in s.lanes[q.first_lane : q.end_lane]:
            grows = min(grows, now + set_rate(w, q, draw.restored, now))
        spread = q.start_spread_min
        if spread > 0.0 and draw.restored and now < spread - TINY and q.limit > 0.0:
            until = min(until, spread)
            rate = min(q.limit, min(q.ramp_start, q.batches_per_min))
            for call in s.calls[q.first_call : q.end_call]:
                more = max(0.0, rate * q.item_min / spread - rate)
                s.dependencies[call.dependency].burst += more * call.per_item
    return grows, until


@compiled
def take(s, place, span, first):
    """What the consumers take, and the load and the attempts that it makes."""
    draw = s.draw
    stage = draw.stage
    restored = draw.restored
    for w in s.lanes:
        q = s.queues[w.queue]
        has_capacity = restored and w.rate + w.slope > 0.0
        if first:
            # Before deadlines are looked at: the turn of what is set aside comes later.
            w.side_base = w.gone
            limit, _ = age_limit(q, has_capacity)
            set_aside(s, w, place, limit)
            w.side_first = s.curves[w.aside_row, draw.restore_at] = w.side_in
        if q.deadline_min < NO_LIMIT and has_capacity:
            # A ramp that has just come up to what arrives leaves something over at once.
            gain = w.rate - w.coming
            slack = TINY * w.coming
            spare = stage >= 5 and (gain > slack or (w.slope > 0.0 and gain >= -slack)) and w.known - w.gone <= w.scale
            discard(s, w, place, spare)
        set_demand(draw, w, span)


@compiled
def look(s, now):
    """Which dependencies are down or reject, what still succeeds, and what all that tells."""
    draw = s.draw
    draw.healthy = draw.warm = draw.within = draw.fresh = draw.empty = draw.reached = True
    for turn in range(draw.turns):
        # In series, what comes to a dependency is known when those before it are.
        add_loads(s)
        for x in s.dependencies:
            if x.turn == turn:
                judge(s, x, now)
    for x in s.dependencies:
        draw.warm &= x.hit >= 0.9 * x.hit_at_rest - TINY and x.control_left <= 0.0
        draw.within &= x.load <= draw.objective_share * x.capacity * (1.0 + TINY)
        draw.healthy &= not x.collapsed
        draw.reached &= x.passing >= 1.0
    share_out(s)
    for x in s.dependencies:
        failing = x.fresh - x.fresh_ok + x.held
        if abs(failing - x.failing_rate) > 1e-6 * (1.0 + failing):
            x.failing_rate, x.unserved_from_min = failing, now
    charge_pools(s)
    for q in s.queues:
        note_queue(s, q, now)


@compiled
def first_change(s, holds, place):
    """Minutes until a queue runs empty, a quota runs out, a cache is warm or an admission step may change."""
    draw = s.draw
    stage = draw.stage
    dt = np.inf
    for w in s.lanes:
        dt = min(dt, time_to_change(s, w, place))
        if w.slope > 0.0:
            dt = min(dt, time_to_outpace(s, w, place))
    for x in s.dependencies:
        if x.working_off > 0.0:
            dt = min(dt, x.in_flight / x.working_off)
        if x.control_left > 0.0 and not x.collapsed:
            dt = min(dt, x.control_left / x.control_catch_up_per_min)
        if stage == 2 and not draw.warm and not x.collapsed and x.cache_fill_min > 0.0:
            gap = (x.hit_at_rest - x.hit) / (0.1 * x.hit_at_rest)
            if gap > 1.0:
                dt = min(dt, x.cache_fill_min * np.log(gap))
    for pool in s.pools:
        if pool.burn > 0.0 and not pool.limited and pool.tokens < NO_LIMIT:
            dt = min(dt, pool.tokens / pool.burn)
    if stage < NORMAL:
        if holds:
            dt = min(dt, draw.holds[stage - 1] - draw.calm)
        if not draw.healthy and stage > 1:
            dt = min(dt, draw.notice_min - draw.trouble)
    return dt


# What is kept.


@compiled
def write_lane(s, w, course, row, t):
    """Add the state of a lane to the course of its queue."""
    draw = s.draw
    q = s.queues[w.queue]
    c = course[row, w.queue]
    live = max(0.0, w.known - w.gone)
    if w.row == q.first_lane:
        c.live = c.sidelined = c.first_attempt_age_min = 0.0
        c.arrived = q.superseded - q.backlog_before
        c.served, c.expired, c.lost_to_retention = q.served, q.expired, q.lost_to_retention
        c.superseded, c.dead_lettered = q.superseded, q.dead_lettered
        c.discarded_past_deadline = q.discarded_past_deadline
        c.bound, c.replicas = 0.0, s.scalers[w.queue].serving
    c.live += live
    c.sidelined += max(0.0, w.side_in - w.side_out)
    c.arrived += w.known
    if live > w.scale:
        c.first_attempt_age_min = max(c.first_attempt_age_min, age_of(s, w, t))
    if c.bound == 0.0 and waiting_in(w) > w.scale and t > draw.t0 + draw.begin_at * draw.step + TINY:
        c.bound = DEPENDENCY if w.fails else w.bound


@compiled
def age_of(s, w, t):
    """Age of the item next in turn."""
    curves = s.curves
    after = np.searchsorted(curves[w.row], w.gone, side="right")
    if after == 0:
        place = -(curves[w.row, 0] - w.gone) / w.early if w.early > 0.0 else 0.0
    elif after == curves.shape[1]:
        place = after - 1.0
    else:
        place = after - 1.0 + (w.gone - curves[w.row, after - 1]) / (curves[w.row, after] - curves[w.row, after - 1])
    return max(0.0, t - s.draw.t0 - place * s.draw.step)


@compiled
def oldest_of(s, q, t):
    """Age of the oldest item that waits in a queue."""
    oldest = 0.0
    for w in s.lanes[q.first_lane : q.end_lane]:
        if w.known - w.gone > w.scale:
            oldest = max(oldest, age_of(s, w, t))
    return oldest


@compiled
def write_row(s, course, others, row, t):
    """The state at a point of the grid."""
    for w in s.lanes:
        write_lane(s, w, course, row, t)
    column = 0
    for x in s.dependencies:
        others[row, column] = x.attempts
        others[row, column + 1] = x.collapsed
        column += 2
    for g in s.fleets:
        others[row, column] = g.serving
        column += 1
    others[row, column] = s.draw.stage


@compiled
def note_waiting(s, waits, row, after):
    """Keep what waits after steps taken as one, and on the way there, where rates were constant."""
    for q in s.queues:
        gain = (q.waiting - waits[row, q.row]) / (after - row)
        for passed in range(row + 1, after):
            waits[passed, q.row] = waits[row, q.row] + gain * (passed - row)
        waits[after, q.row] = q.waiting


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
    if direct.shape[2] > 0:
        for i in range(points):
            steady[i] = min(points - 1, i + 1)


@compiled
def quiet_steps(s, i, most):
    """How many steps of the grid from ``i`` on, at most ``most``, bring nothing new, so that they can be taken as one.

    Rates hold for all of them. Nothing may be set aside or become too old meanwhile, since that differs from step to step.
    """
    draw = s.draw
    base = min(s.steady.shape[0] - 1, max(0, i + int(np.floor(draw.place))))
    spare = 0 if draw.place == np.floor(draw.place) else 1
    most = min(most, s.steady[base] - base - spare)
    if most < 2:
        return 1
    for g in s.fleets:
        if not g.settled:
            return 1
    for w in s.lanes:
        q = s.queues[w.queue]
        if q.fresh_first:
            return 1
        limit, _ = age_limit(q, True)
        if limit >= NO_LIMIT:
            continue
        # What has left only grows: work that is too old at the end of a stretch and had not left at its start may be removed.
        while most > 1 and value_at(s.curves, w.row, i + most - limit * draw.inv, w.early) > w.gone:
            if value_at(s.curves, w.row, i + 2 - limit * draw.inv, w.early) > w.gone:
                return 1
            most //= 2
    return most


@compiled
def repeats(s):
    """Whether the state is that of one period ago, or worse, and the period did the same; keeps it for the next time.

    An admission plan that fell back in both periods, from the same step, need not stand at the same place of its own cycle.
    """
    same, draw = True, s.draw
    for w in s.lanes:
        slack = TINY * w.known
        live, side = w.known - w.gone, w.side_in - w.side_out
        if live < w.marked_live - slack or side < w.marked_side - slack:
            same = False
        w.marked_live, w.marked_side = live, side
    now = (float(draw.highest), draw.falls, float(draw.stage), draw.lift, draw.calm, draw.trouble)
    cycles = draw.falls > 0.0 and draw.marked[1] > 0.0 and draw.marked[0] == draw.highest
    for place in range(6):
        if place > 1 and not cycles and abs(now[place] - draw.marked[place]) > 1e-6:
            same = False
        draw.marked[place] = now[place]
    draw.highest, draw.falls = draw.stage, 0.0
    for x in s.dependencies:
        gained = x.time_collapsed_min - x.marked_min
        moved = abs(gained - x.marked_gain) > 1e-6 or x.collapsed != x.marked_down or abs(x.hit - x.marked_hit) > TINY
        if (moved and not cycles) or x.control_left != x.marked_control:
            same = False
        x.marked_min, x.marked_gain, x.marked_down = x.time_collapsed_min, gained, x.collapsed
        x.marked_hit, x.marked_control = x.hit, x.control_left
    for pool in s.pools:
        tokens, before = pool.tokens, pool.marked
        if tokens != before and not abs(tokens - before) <= TINY * before and not cycles:
            same = False
        pool.marked = tokens
    for g in s.fleets:
        if abs(g.serving - g.marked) > TINY * g.marked:
            same = False
        g.marked = g.serving
    for a in s.scalers:
        if a.wanted + a.serving != a.marked:
            same = False
        a.marked = a.wanted + a.serving
    return same


@compiled
def mark_losses(s, length):
    """What a whole period lost, a minute."""
    for x in s.dependencies:
        unserved = x.shed + x.failed_direct
        x.unserved_per_min = (unserved - x.marked_unserved) / length
        x.marked_unserved = unserved
    for q in s.queues:
        losses = q.expired + q.lost_to_retention + q.discarded_past_deadline + q.dead_lettered
        q.lost_per_min = (losses - q.marked_losses) / length
        q.marked_losses = losses
        waiting = 0.0
        for w in s.lanes[q.first_lane : q.end_lane]:
            waiting += w.known - w.gone - w.marked_live + w.side_in - w.side_out - w.marked_side
        q.grew_per_min = waiting / length


@compiled
def begin(s):
    """The state where consumers run again, curves aside. Only lanes and autoscalers were used by a draw before."""
    draw = s.draw
    for pool in s.pools:
        pool.tokens = pool.retry_tokens
    for x in s.dependencies:
        x.collapsed = x.fresh_flight = x.collapsed_at_restore and draw.begin_at == draw.restore_at
        x.hit, x.control_left = x.hit_at_restore, x.control_backlog
        x.passing = 0.0 if x.collapsed else 1.0
        x.healed_at_min = -1.0 if x.collapsed else 0.0
        x.margin_share = np.inf
    for q in s.queues:
        for call in s.calls[q.first_call : q.end_call]:
            s.dependencies[call.dependency].service += own_rate(q) * call.per_item
        q.drain_min = q.fresh_age_back_min = -1.0
        q.busy = 1.0
    for a in s.scalers:
        a.wanted = a.serving = a.at_restore
        a.next_sync = a.sync_min if a.on else np.inf
        a.pending = a.wishes = a.moves = 0
    for g in s.fleets:
        g.serving = g.lowest = g.running
        g.bucket, g.requests = g.launch_burst, g.request_burst
        g.full = g.serving >= g.needed - 0.5
        g.share = min(1.0, g.serving / g.needed) if g.needed > 0.0 else 1.0
    for w in s.lanes:
        w.known = w.gone = w.side_in = w.side_out = w.side_base = w.side_first = 0.0
        w.coming = w.rate = w.slope = w.live = w.side = w.scale = 0.0
        w.fails = w.held = w.waits = w.keeps_up = False
        w.live_ok = w.side_ok = w.live_fails = w.side_fails = w.cut = 0.0
        w.top, w.bottom, w.crest, w.bound = -1, 0, 1.0, 0
        w.aside_row, w.stack_row = s.lanes.shape[0] + w.row, 2 * s.lanes.shape[0] + w.row
        q = s.queues[w.queue]
        w.early = q.arrivals * q.first_rate * w.arrival_share * draw.step
        if w.early <= 0.0:
            # Without a rate at the trigger, what waited there is taken to have come at that moment.
            w.early = q.backlog_before * w.arrival_share / TINY
    draw.begun[:] = -1.0
    draw.stage = NORMAL


@compiled
def restore(s):
    """What happens at the restore: superseded work goes, and the admission plan begins."""
    draw = s.draw
    for w in s.lanes:
        supersede(s, w)
    draw.restored = True
    draw.stage = 1 if draw.has_plan else NORMAL
    draw.begun[draw.stage] = 0.0
    if draw.begin_at < draw.restore_at:
        for x in s.dependencies:
            if x.collapsed_at_restore and not x.collapsed:
                x.collapsed = x.fresh_flight = True
                x.healed_at_min = -1.0


@compiled
def scale_replicas(s, now):
    """Let every autoscaler look whose time has come; tells whether one changed its mind."""
    changed = False
    for q in s.queues:
        a = s.scalers[q.row]
        if a.on and now >= a.next_sync - TINY:
            able = taken = waiting = 0.0
            for w in s.lanes[q.first_lane : q.end_lane]:
                able += w.rate
                taken += w.rate if w.waits else w.live + w.side
                waiting += waiting_in(w)
            q.busy = min(1.0, taken / able) if able > 0.0 else 1.0
            q.waiting = waiting
            changed |= look_at_replicas(s, q, now, oldest_of(s, q, now))
            a.next_sync += a.sync_min
    return changed


@compiled
def run_draw(s, course, others, waits):
    """Simulate one draw."""
    draw = s.draw
    points = s.curves.shape[1]
    step, t0, inv = draw.step, draw.t0, draw.inv
    last = draw.restore_at
    begin(s)
    for w in s.lanes:
        fill_curve(s, w)
        remove_too_old(s, w)
    for i in range(max(0, int((draw.trigger - t0) * inv + TINY)), draw.begin_at):
        for w in s.lanes:
            outage(s, w, i)
        tally(s, 0.0)
        if course.shape[0] > 0:
            for w in s.lanes:
                write_lane(s, w, course, i + 1, t0 + (i + 1) * step)
        if waits.shape[0] > 0:
            for q in s.queues:
                waits[i + 1, q.row] = q.waiting
    for w in s.lanes:
        w.known = s.curves[w.row, draw.begin_at]
        w.scale = TINY * (w.known + s.queues[w.queue].service_rate_per_min)
    period = draw.period
    check = draw.restore_at + draw.settled if period > 0 else points
    marks = 0
    draw.end_min, draw.never, draw.over = t0 + (points - 1) * step, False, False
    # Rates are looked at anew when something may have changed them: ``stale``, or the next change is due.
    first, stale, holds = False, True, False
    change_at = 0.0
    tally(s, 0.0)

    after = draw.begin_at
    while after < points - 1:
        i, after = after, after + 1
        now, cell_end = t0 + i * step, t0 + after * step
        if i == draw.restore_at:
            tally(s, 0.0)
            restore(s)
            first = stale = True
        if draw.restored:
            for g in s.fleets:
                stale |= move_fleet(s, g, i, now, draw.stage == NORMAL)
        for w in s.lanes:
            coming = (s.curves[w.row, i + 1] - s.curves[w.row, i]) * inv
            if abs(coming - w.coming) > SAME_RATE * coming:
                w.coming = coming
                stale = True
        if s.direct.shape[2] > 0:
            stale = True
        if not stale and course.shape[0] == 0 and draw.stage >= NORMAL and draw.restored:
            most = min(check, points - 1) - i
            if change_at < t0 + (i + most) * step:
                most = int((change_at - now) * inv - TINY)
            after = i + quiet_steps(s, i, most)
            cell_end = t0 + after * step

        cuts = 0
        place = float(i)
        while place < after:
            if stale or now >= change_at - TINY * step:
                cuts += 1
                if scale_replicas(s, now) and cuts < MOST_CUTS:
                    stale = True
                grows_until, holds_until = offer(s, i, now, cell_end)
                take(s, place, min(grows_until, cell_end) - now, first)
                look(s, now)
                first = False
                holds = False
                if draw.stage < NORMAL:
                    holds = signal_holds(draw)
                    if not holds:
                        draw.calm = 0.0
                    if draw.healthy:
                        draw.trouble = 0.0
                    change = 0
                    if cuts < MOST_CUTS:
                        change = change_step(s, holds, now)
                    if change != 0:
                        draw.fallbacks += change < 0
                        draw.falls += change < 0
                        draw.highest = max(draw.highest, draw.stage)
                        continue
                elif draw.restored and draw.reached and draw.healthy and draw.full and now >= draw.last_course:
                    draw.end_min, draw.over = now, True
                    for x in s.dependencies:
                        # What is asked of it goes on like this: where nothing had to recover, that is all there is.
                        x.peak_attempts_per_min = max(x.peak_attempts_per_min, x.attempts)
                    break
                change_at = min(now + first_change(s, holds, place), min(grows_until, holds_until))
                stale = grows_until < np.inf

            if cuts >= MOST_CUTS or cell_end - change_at < TINY * step:
                dt, place = cell_end - now, float(after)
            else:
                dt, place = change_at - now, (change_at - t0) * inv
            for x in s.dependencies:
                stale |= move_dependency(s, x, dt, draw.stage >= 2)
            move_pools(s, dt)
            for w in s.lanes:
                stale |= move_lane(s, w, after - 1, place, dt)
            tally(s, dt)
            note_losses(s, now, dt)
            if holds:
                draw.calm += dt
            if not draw.healthy and 1 < draw.stage < NORMAL:
                draw.trouble += dt
            now += dt

        if course.shape[0] > 0:
            last = after
            write_row(s, course, others, last, now)
        if waits.shape[0] > 0:
            last = after
            note_waiting(s, waits, i, after)
        if draw.over:
            break
        if after == check:
            check += period
            marks += 1
            mark_losses(s, period * step)
            again = repeats(s)
            if again and marks > 2 and cell_end >= draw.last_course:
                draw.end_min, draw.never = cell_end, True
                # What changes within a period is told of the whole of it.
                for x in s.dependencies:
                    x.unserved_from_min = min(x.unserved_from_min, cell_end - period * step)
                for q in s.queues:
                    q.lost_from_min = min(q.lost_from_min, cell_end - period * step)
                break
    for q in s.queues:
        q.arrived = q.superseded - q.backlog_before
        q.live_at_end = q.sidelined_at_end = 0.0
        for w in s.lanes[q.first_lane : q.end_lane]:
            q.arrived += w.known
            q.live_at_end += w.known - w.gone
            q.sidelined_at_end += w.side_in - w.side_out
    draw.last = last


@njit(cache=True, error_model="numpy", nogil=True)
def simulate(
    points, draws, queues, dependencies, pools, fleets, lanes, scalers, calls, steps, bases, direct, course, others, waits
):  # fmt: skip
    """Simulate every draw; what comes of it is kept in ``draws``, ``queues``, ``dependencies`` and ``fleets``, which are new.

    Records are of shape (draws, ...), those of lanes and autoscalers (items,): each draw begins them anew. ``bases``: (queues,
    points) cumulative base arrivals; a draw's own grid has ``points``. ``direct``: (2, dependencies, points) direct traffic, as
    a share and as what comes beside it, or none. ``course``: (points, queues) for one draw, or empty; ``others`` (points,
    columns): attempts and state of each dependency, each fleet in service, the admission step. ``waits``: (draws, points,
    queues) or no draws.
    """
    curves = np.empty((3 * lanes.shape[0], points))
    launches = np.empty((fleets.shape[1], points), LAUNCH)
    memory = np.empty((scalers.shape[0], RING), MEMORY)
    steady = np.zeros(bases.shape[1], dtype=np.int64)
    find_steady(bases, direct, steady)
    none, keeps = np.zeros((0, queues.shape[1])), waits.shape[0] > 0
    for d in range(draws.shape[0]):
        one = Draw(
            draws[d], queues[d], dependencies[d], pools[d], fleets[d], lanes, scalers, calls, steps, bases, steady, direct,
            curves, launches, memory,
        )  # fmt: skip
        run_draw(one, course, others, waits[d] if keeps else none)
