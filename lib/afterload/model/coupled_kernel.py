"""The coupled recovery, over any number of draws: plain loops that a compiler turns into machine code.

One call simulates every draw. The columns of all arrays are named below; times are minutes from the restore, which is 0, and
rates are items a minute. :mod:`afterload.model.coupled` is the face of this module: it packs, compiles and unpacks.

A queue is followed by its cumulative arrivals A and its departures D; an age limit L is a floor under D, A(t - L). That keeps
the state of a queue to a few numbers, whatever the arrival rate is. Arrivals, fleets and caches change from step to step. Within
a step every other change of a rate (a queue runs empty, a ramp ends, a quota runs out, a hold is over) cuts the step at the
moment when it happens, so that a stretch between two cuts has constant rates.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["simulate"]

# Columns of a queue.
(
    Q_ARRIVALS,  # factor on the base arrivals
    Q_SERVICE,  # consumers' sustainable rate
    Q_DEPENDENCY,  # index, or -1
    Q_ATTEMPTS,  # attempts an item costs while its dependency fails
    Q_BEFORE,  # items waiting at the trigger
    Q_SERVED_OUT,  # rate still served in the outage
    Q_MAX_AGE,
    Q_RETENTION,
    Q_DEADLINE,
    Q_SUPERSEDED,  # share of the backlog dropped at the restore
    Q_FRESH_FIRST,  # 1 or 0
    Q_SIDELINE,  # age at which work is set aside
    Q_CAP,  # rate
    Q_RAMP_START,  # rate at the restore
    Q_RAMP_SLOPE,  # rate gained in a minute
    Q_RECEIVES,  # failed deliveries after which an item goes to the dead-letter queue
    Q_FLEET,  # index, or -1
    Q_EACH,  # rate of one step of its caps; 0 where a cap can be any rate
    Q_LEAST,  # fewest such steps that can be set
    Q_HIGHEST,  # most
) = range(20)
NQ = 20

# Columns of a dependency.
(
    K_CAPACITY,  # attempts a minute
    K_CONTROL,  # control-loop traffic
    K_FRESH,  # direct interactive traffic
    K_ATTEMPTS,  # attempts a direct request costs while failing
    K_GOODPUT,  # share of capacity that still does useful work while collapsed
    K_COLLAPSED,  # 1 if collapsed at the restore
    K_TOKENS,  # retries that the quotas of all clients hold at the restore
    K_SUSTAINED,  # attempts a request once the quotas are empty
    K_REFILL,  # tokens that a success brings back
    K_HIT_REST,  # cache hit rate at rest
    K_HIT_NOW,  # cache hit rate at the restore
    K_FILL,  # minutes in which the cache closes most of the gap (1 - 1/e)
    K_ROOM,  # what admission steps may use of it, other traffic included; infinite for its capacity
) = range(13)
NK = 13

# Columns of a fleet.
(
    F_RUNNING,
    F_NEEDED,
    F_BURST,  # instances that can be launched at once
    F_LAUNCH,  # instances a minute once the burst is spent
    F_DELAY,  # minutes from launch to service
    F_LAUNCH_FROM,  # minutes after the restore when launches begin to succeed
    F_REMOVAL,  # instances a minute that automation removes while launches are impaired
    F_ACTIVE,  # 1 if that automation is running
    F_FLOOR,  # instances below which a velocity limit stops removals
    F_REQUEST_BURST,  # instances that the bucket of requests admits at once
    F_REQUESTS,  # instances a minute that it admits once that is spent
) = range(11)
NF = 11

# Columns of the admission plan, one row for all draws; seven holds follow from M_HOLD on.
M_ON, M_FLOOR, M_SHARE, M_REPLAY, M_LIFTS, M_OBJECTIVE, M_NOTICE, M_HOLD = range(8)
NM = M_HOLD + 7
NORMAL = 8  # the step after the seventh: nothing is held any more

# Results of a queue.
(
    R_DRAIN,
    R_FRESH,
    R_AT_RESTORE,
    R_ARRIVED,
    R_SERVED,
    R_EXPIRED,
    R_LOST,
    R_DISCARDED,
    R_SUPERSEDED,
    R_DEAD,
    R_LIVE,
    R_SIDE,
    R_PEAK,
) = range(13)
NR = 13
# Results of a dependency. Direct requests are counted as they reach it, so a cold cache makes more of them.
# The last two: direct requests shed or failed up to the latest whole period, and a minute of that period.
S_COLLAPSED, S_PEAK, S_SHED, S_FAILED, S_HEALED, S_DIRECT, S_SERVED, S_MARGIN, S_UNSERVED, S_EACH = range(10)
NS = 10
# Results of a draw.
O_END, O_NEVER, O_FALLBACKS, O_OVER = range(4)  # the last: 1 if it ended before the horizon
NO = 4
# Columns of the course of a queue.
T_LIVE, T_SIDE, T_AGE, T_ARRIVED, T_SERVED, T_EXPIRED, T_LOST, T_DISCARDED, T_SUPERSEDED, T_DEAD = range(10)
NT = 10

# What a queue carries through a draw.
(
    W_KNOWN,  # items that have arrived, those before the trigger included and superseded ones not
    W_GONE,  # of these, items that have left the live queue
    W_SIDE_IN,  # items set aside
    W_SIDE_OUT,  # of these, items that have left
    W_SIDE_BASE,  # W_GONE when work was first set aside
    W_SIDE_FIRST,  # items set aside then
    W_EARLY,  # items that arrive in a step before the grid begins
    W_SCALE,  # fewer items than this are none
    W_RATE,  # what consumers can do at the beginning of the stretch
    W_SLOPE,  # how that grows
    W_COMING,  # arrival rate
    W_WAITS,  # 1 if work waits in the live queue
    W_KEEPS_UP,  # 1 if none does and consumers can take all that arrives
    W_HELD,  # 1 if something outside the queue holds its consumers back
    W_LIVE,  # rate of live work that consumers take
    W_SIDE,  # rate of sidelined work that they take
    W_FAILS,  # 1 if that meets a dependency that is down
    W_LIVE_OK,  # rate of live work served while it is down
    W_SIDE_OK,  # rate of sidelined work served while it is down
) = range(19)
NW = 19
# What a dependency carries through a draw.
(
    D_COLLAPSED,
    D_TOKENS,
    D_HIT,
    D_FRESH,  # direct traffic that is admitted
    D_SHED,  # direct traffic that is not
    D_FRESH_OK,  # direct traffic that succeeds while it is down
    D_LIMITED,  # 1 if retries are held to what quotas sustain
    D_LOAD,  # requests
    D_FAILING,  # attempts that they cost while calls fail
    D_ATTEMPTS,  # attempts that they cost now
    D_BURN,  # retries a minute taken from the quotas
    D_SERVICE,  # what the consumers that call it sustain together
    D_ROOM,  # rate that drains may have together
    D_LEFT,  # of that, what queues that drain may have: the rest serves what arrives in queues that are at rest
    D_DRAINING,  # what the consumers of queues that drain sustain together
) = range(15)
ND = 15
# What a fleet carries through a draw.
(
    L_SERVING,
    L_BUCKET,  # instances
    L_REQUESTS,  # instances that the bucket of requests still admits
    L_SHARE,  # mean share of what is needed that serves in this step
    L_FULL,  # 1 if nothing is missing
    L_SETTLED,  # 1 if it stays as it is
) = range(6)
NL = 6
# What the admission plan carries through a draw.
P_STAGE, P_LIFT, P_CALM, P_TROUBLE = range(4)  # minutes for which the signal held; minutes of a collapse
NP = 4
# Whether a signal holds.
G_HEALTHY, G_WARM, G_WITHIN, G_FRESH, G_EMPTY, G_FULL, G_REACHED = range(7)
NG = 7

NO_LIMIT = 1e300
TINY = 1e-9
# More cuts of a step than this are left out: what is left of the step is one stretch then.
MOST_CUTS = 64
# Arrival rates closer than this are the same: they are differences of sums, and differ by rounding.
SAME_RATE = 1e-10

# Only ``simulate`` makes arrays. What it calls need not count references to them, which would take half of the time.
compiled = njit(cache=True, error_model="numpy", _nrt=False)  # type: ignore[call-overload]


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
def fill_curve(q, curves, bases, p, at_trigger, first_rate, trigger, t0, step):
    """Cumulative arrivals on the grid. What waited at the trigger came before it at the first rate."""
    points = bases.shape[1]
    first = min(points, max(0, int(np.ceil((trigger - t0) / step - TINY))))
    rate = p[q, Q_ARRIVALS] * first_rate
    for i in range(first):
        curves[q, i] = max(0.0, p[q, Q_BEFORE] - rate * (trigger - t0 - i * step)) if rate > 0.0 else 0.0
    shift = p[q, Q_BEFORE] - p[q, Q_ARRIVALS] * at_trigger
    for i in range(first, points):
        curves[q, i] = shift + p[q, Q_ARRIVALS] * bases[q, i]


@compiled
def record(q, course, row, t, curves, w, r, t0, step):
    """Write the state of a queue into its course."""
    live = max(0.0, w[q, W_KNOWN] - w[q, W_GONE])
    course[row, NT * q + T_LIVE] = live
    course[row, NT * q + T_SIDE] = max(0.0, w[q, W_SIDE_IN] - w[q, W_SIDE_OUT])
    if live > w[q, W_SCALE]:
        after = np.searchsorted(curves[q], w[q, W_GONE], side="right")
        if after == 0:
            place = -(curves[q, 0] - w[q, W_GONE]) / w[q, W_EARLY] if w[q, W_EARLY] > 0.0 else 0.0
        elif after == curves.shape[1]:
            place = after - 1.0
        else:
            place = after - 1.0 + (w[q, W_GONE] - curves[q, after - 1]) / (curves[q, after] - curves[q, after - 1])
        course[row, NT * q + T_AGE] = max(0.0, t - t0 - place * step)
    course[row, NT * q + T_ARRIVED] = w[q, W_KNOWN] + r[q, R_SUPERSEDED] - r[q, R_ARRIVED]
    course[row, NT * q + T_SERVED] = r[q, R_SERVED]
    course[row, NT * q + T_EXPIRED] = r[q, R_EXPIRED]
    course[row, NT * q + T_LOST] = r[q, R_LOST]
    course[row, NT * q + T_DISCARDED] = r[q, R_DISCARDED]
    course[row, NT * q + T_SUPERSEDED] = r[q, R_SUPERSEDED]
    course[row, NT * q + T_DEAD] = r[q, R_DEAD]


@compiled
def waiting_in(q, w):
    """Items that wait in a queue, those set aside included."""
    return max(0.0, w[q, W_KNOWN] - w[q, W_GONE]) + max(0.0, w[q, W_SIDE_IN] - w[q, W_SIDE_OUT])


@compiled
def note_waiting(waits, row, after, w):
    """Keep what waits after steps taken as one, and on the way there, where rates were constant."""
    for q in range(w.shape[0]):
        now = waiting_in(q, w)
        gain = (now - waits[row, q]) / (after - row)
        for passed in range(row + 1, after):
            waits[passed, q] = waits[row, q] + gain * (passed - row)
        waits[after, q] = now


@compiled
def find_steady(bases, steady):
    """For each point of the grid, the last one up to which the arrivals of every queue keep the rate that they have there."""
    points = bases.shape[1]
    end = points - 1
    steady[end] = end
    for i in range(points - 2, -1, -1):
        for q in range(bases.shape[0]):
            rate = bases[q, end] - bases[q, end - 1]
            if abs(bases[q, i + 1] - bases[q, i] - rate) > SAME_RATE * rate:
                end = i + 1
                break
        steady[i] = end


@compiled
def outage(q, curves, w, p, r, trigger, t0, step, restore_at, course, waits):
    """Arrivals, partial service and expiry from the trigger to the restore; ``course`` and ``waits`` are empty if not kept."""
    limit = min(p[q, Q_MAX_AGE], p[q, Q_RETENTION])
    column = R_EXPIRED if p[q, Q_MAX_AGE] <= p[q, Q_RETENTION] else R_LOST
    r[q, R_PEAK] = p[q, Q_BEFORE]
    if limit < NO_LIMIT and p[q, Q_BEFORE] > 0.0:
        # Some of what waited at the trigger may have been too old already. It had come at the rate of the trigger.
        too_old = max(0.0, p[q, Q_BEFORE] - limit * w[q, W_EARLY] / step)
        r[q, column] = w[q, W_GONE] = too_old
    for i in range(max(0, int((trigger - t0) / step + TINY)), restore_at):
        after = min(w[q, W_GONE] + p[q, Q_SERVED_OUT] * min(step, t0 + (i + 1) * step - trigger), curves[q, i + 1])
        r[q, R_SERVED] += after - w[q, W_GONE]
        if limit < NO_LIMIT:
            floor = value_at(curves, q, i + 1 - limit / step, w[q, W_EARLY])
            if floor > after:
                r[q, column] += floor - after
                after = floor
        w[q, W_KNOWN], w[q, W_GONE] = curves[q, i + 1], after
        r[q, R_PEAK] = max(r[q, R_PEAK], curves[q, i + 1] - after)
        if course.shape[0] > 0:
            record(q, course, i + 1, t0 + (i + 1) * step, curves, w, r, t0, step)
        if waits.shape[0] > 0:
            waits[i + 1, q] = waiting_in(q, w)


@compiled
def supersede(q, curves, w, p, r, restore_at):
    """At the restore, drop the superseded share of what waits, evenly over its ages."""
    waiting = curves[q, restore_at] - w[q, W_GONE]
    r[q, R_AT_RESTORE] = waiting
    r[q, R_PEAK] = max(r[q, R_PEAK], waiting)
    share = p[q, Q_SUPERSEDED]
    if share > 0.0:
        r[q, R_SUPERSEDED] = share * waiting
        w[q, W_EARLY] *= 1.0 - share
        for i in range(restore_at):
            if curves[q, i] > w[q, W_GONE]:
                curves[q, i] -= share * (curves[q, i] - w[q, W_GONE])
        for i in range(restore_at, curves.shape[1]):
            curves[q, i] -= share * waiting
    w[q, W_KNOWN] = curves[q, restore_at]
    w[q, W_SCALE] = TINY * (w[q, W_KNOWN] + p[q, Q_SERVICE])


@compiled
def age_limit(q, p, has_capacity):
    """The age limit that acts, and where what it removes is counted. A deadline is looked at when an item's turn comes."""
    limit, column = p[q, Q_MAX_AGE], R_EXPIRED
    if p[q, Q_RETENTION] < limit:
        limit, column = p[q, Q_RETENTION], R_LOST
    if has_capacity and p[q, Q_DEADLINE] < limit:
        limit, column = p[q, Q_DEADLINE], R_DISCARDED
    return limit, column


@compiled
def aside_by(q, curves, side_curves, w, place, sideline, restore_at, now):
    """Of the work set aside by the place ``now``, what had arrived by a place of the grid; ``sideline`` in steps."""
    crossed = place + sideline
    if crossed <= restore_at:
        return min(w[q, W_SIDE_FIRST], max(0.0, value_at(curves, q, place, w[q, W_EARLY]) - w[q, W_SIDE_BASE]))
    # What arrived by then and has not been set aside yet is not part of it, and what has been had all arrived by then.
    return value_at(side_curves, q, crossed, 0.0) if crossed < now else w[q, W_SIDE_IN]


@compiled
def set_aside(q, curves, w, p, place, inv, limit):
    """Move work that has become old to the second queue, unless an age limit removes it before it is that old."""
    if p[q, Q_FRESH_FIRST] > 0.0 and p[q, Q_SIDELINE] < limit:
        edge = value_at(curves, q, place - p[q, Q_SIDELINE] * inv, w[q, W_EARLY])
        if edge > w[q, W_GONE]:
            w[q, W_SIDE_IN] += edge - w[q, W_GONE]
            w[q, W_GONE] = edge
        return True
    return False


@compiled
def discard(q, curves, side_curves, w, p, r, place, inv, restore_at, spare):
    """Discard what is past its deadline now that its turn has come, which takes no time."""
    limit, column = age_limit(q, p, True)
    if column != R_DISCARDED:
        return
    floor = value_at(curves, q, place - limit * inv, w[q, W_EARLY])
    if floor > w[q, W_GONE]:
        r[q, R_DISCARDED] += floor - w[q, W_GONE]
        w[q, W_GONE] = floor
    if spare and w[q, W_SIDE_IN] > w[q, W_SIDE_OUT]:
        floor = aside_by(q, curves, side_curves, w, place - limit * inv, p[q, Q_SIDELINE] * inv, restore_at, place)
        if floor > w[q, W_SIDE_OUT]:
            r[q, R_DISCARDED] += floor - w[q, W_SIDE_OUT]
            w[q, W_SIDE_OUT] = floor


@compiled
def move_fleet(f, g, p, launched, i, restore_at, now, step, removing):
    """Removals, launches and starts of one step; tells whether the fleet serves more or less now."""
    if g[f, L_SETTLED] > 0.0:
        return False
    before = g[f, L_SERVING]
    impaired = min(step, max(0.0, p[f, F_LAUNCH_FROM] - now))
    if removing and p[f, F_ACTIVE] > 0.0:
        g[f, L_SERVING] = max(min(before, p[f, F_FLOOR]), before - p[f, F_REMOVAL] * impaired)
    delay = p[f, F_DELAY] / step
    if i == restore_at:
        launched[f, i] = 0.0
    started = value_at(launched, f, i - delay, 0.0) if i - delay > restore_at else 0.0
    asked = 0.0
    if impaired < step:
        available = g[f, L_BUCKET] + p[f, F_LAUNCH] * (step - impaired)
        requested = g[f, L_REQUESTS] + p[f, F_REQUESTS] * (step - impaired)
        asked = min(max(0.0, p[f, F_NEEDED] - g[f, L_SERVING] - (launched[f, i] - started)), available, requested)
        g[f, L_BUCKET] = min(p[f, F_BURST], available - asked)
        g[f, L_REQUESTS] = min(p[f, F_REQUEST_BURST], requested - asked)
    launched[f, i + 1] = launched[f, i] + asked
    if i + 1 - delay > restore_at:
        g[f, L_SERVING] += value_at(launched, f, i + 1 - delay, 0.0) - started
    share = min(1.0, 0.5 * (before + g[f, L_SERVING]) / p[f, F_NEEDED]) if p[f, F_NEEDED] > 0.0 else 1.0
    was_full = g[f, L_FULL]
    changed = share != g[f, L_SHARE]
    g[f, L_SHARE] = share
    g[f, L_FULL] = 1.0 if g[f, L_SERVING] >= p[f, F_NEEDED] - 0.5 else 0.0
    changed |= was_full != g[f, L_FULL]
    # Nothing is removed any more, and none is missing, so that none is on its way.
    is_whole = g[f, L_SERVING] >= p[f, F_NEEDED] * (1.0 - TINY) and g[f, L_SERVING] == before
    if impaired <= 0.0 and is_whole and not changed:
        g[f, L_SETTLED] = 1.0
    return changed


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
def held_to(q, p, room, lift):
    """What a queue's consumers may do, of so much room."""
    own = min(p[q, Q_SERVICE], p[q, Q_CAP])
    return cap_rate(room, own, p[q, Q_EACH], p[q, Q_LEAST], p[q, Q_HIGHEST], lift)


@compiled
def set_rate(q, w, p, now, in_service, room, stage, floor):
    """What the consumers of a queue can do from now on, how that grows, and the minutes for which it grows.

    ``room`` is the rate that the admission plan gives them.
    """
    limit = min(p[q, Q_SERVICE], p[q, Q_CAP])
    alone = p[q, Q_RAMP_START] + p[q, Q_RAMP_SLOPE] * now
    slope = p[q, Q_RAMP_SLOPE]
    if stage < 4:
        in_service *= held_to(q, p, min(floor * limit, room), 0.0) / limit if limit > 0.0 else floor
    rate, limit, slope = min(alone, limit) * in_service, min(limit * in_service, room), slope * in_service
    w[q, W_HELD] = 1.0 if min(rate, room) < min(alone, p[q, Q_SERVICE], p[q, Q_CAP]) * (1.0 - TINY) else 0.0
    w[q, W_RATE], w[q, W_SLOPE] = min(rate, limit), 0.0
    if rate < limit and slope > 0.0:
        grows = (limit - rate) / slope
        if grows > TINY:
            w[q, W_SLOPE] = slope
            return grows
        w[q, W_RATE] = limit
    return np.inf


@compiled
def set_demand(q, w, p, span, replay, stage):
    """What the consumers of a queue take."""
    mean = w[q, W_RATE] + 0.5 * w[q, W_SLOPE] * span
    keeps_up = w[q, W_RATE] >= w[q, W_COMING] * (1.0 - TINY)
    waits = w[q, W_KNOWN] - w[q, W_GONE] > w[q, W_SCALE] or (w[q, W_SLOPE] > 0.0 and not keeps_up)
    w[q, W_WAITS] = 1.0 if waits else 0.0
    w[q, W_KEEPS_UP] = 1.0 if keeps_up and not waits else 0.0
    w[q, W_FAILS] = w[q, W_SIDE] = 0.0
    if waits:
        w[q, W_LIVE] = mean
        return
    w[q, W_LIVE] = min(mean, w[q, W_COMING])
    if stage >= 5 and w[q, W_SIDE_IN] - w[q, W_SIDE_OUT] > w[q, W_SCALE]:
        spare = mean - w[q, W_LIVE]
        w[q, W_SIDE] = spare if spare > TINY * mean else 0.0
        if stage < NORMAL:
            w[q, W_SIDE] = min(w[q, W_SIDE], replay * mean)


@compiled
def judge(k, x, p, s, now):
    """Whether a dependency is down, given its load. It goes down over its capacity, and heals when attempts fit in again."""
    x[k, D_ATTEMPTS], x[k, D_BURN] = x[k, D_LOAD], 0.0
    counts = x[k, D_FAILING] if x[k, D_COLLAPSED] > 0.0 else x[k, D_LOAD]
    s[k, S_MARGIN] = min(s[k, S_MARGIN], abs(counts / p[k, K_CAPACITY] - 1.0))
    if x[k, D_COLLAPSED] > 0.0 or x[k, D_LOAD] > p[k, K_CAPACITY] * (1.0 + TINY):
        x[k, D_ATTEMPTS] = x[k, D_FAILING]
        if x[k, D_FAILING] > p[k, K_CAPACITY] * (1.0 + TINY):
            x[k, D_COLLAPSED] = 1.0
            s[k, S_HEALED] = -1.0
            x[k, D_BURN] = x[k, D_FAILING] - x[k, D_LOAD]
        else:
            x[k, D_COLLAPSED] = 0.0
            s[k, S_HEALED] = now


@compiled
def share_goodput(k, x, p, queues, w):
    """What still succeeds while a dependency is down: control traffic first, then fresh, then queues in their order."""
    left = p[k, K_GOODPUT] * p[k, K_CAPACITY]
    left -= min(left, p[k, K_CONTROL])
    x[k, D_FRESH_OK] = min(left, x[k, D_FRESH])
    left -= x[k, D_FRESH_OK]
    for q in range(w.shape[0]):
        if int(queues[q, Q_DEPENDENCY]) == k:
            w[q, W_FAILS] = 1.0
            w[q, W_LIVE_OK] = min(left, w[q, W_LIVE])
            left -= w[q, W_LIVE_OK]
            w[q, W_SIDE_OK] = min(left, w[q, W_SIDE])
            left -= w[q, W_SIDE_OK]


@compiled
def move_dependency(k, x, p, s, dt, fills):
    """Quotas, cache and tallies of a stretch; tells whether the load changes by itself."""
    down = x[k, D_COLLAPSED] > 0.0
    s[k, S_PEAK] = max(s[k, S_PEAK], x[k, D_ATTEMPTS])
    s[k, S_DIRECT] += (x[k, D_FRESH] + x[k, D_SHED]) * dt
    s[k, S_SHED] += x[k, D_SHED] * dt
    if down:
        s[k, S_COLLAPSED] += dt
        s[k, S_SERVED] += x[k, D_FRESH_OK] * dt
        s[k, S_FAILED] += (x[k, D_FRESH] - x[k, D_FRESH_OK]) * dt
        if x[k, D_LIMITED] <= 0.0 and x[k, D_TOKENS] < NO_LIMIT:
            left = x[k, D_TOKENS] - x[k, D_BURN] * dt
            x[k, D_TOKENS] = left if left > TINY * p[k, K_TOKENS] else 0.0
        return False
    s[k, S_SERVED] += x[k, D_FRESH] * dt
    x[k, D_TOKENS] = min(p[k, K_TOKENS], x[k, D_TOKENS] + x[k, D_LOAD] * p[k, K_REFILL] * dt)
    if fills and p[k, K_FILL] > 0.0 and x[k, D_HIT] != p[k, K_HIT_REST]:
        x[k, D_HIT] = p[k, K_HIT_REST] + (x[k, D_HIT] - p[k, K_HIT_REST]) * np.exp(-dt / p[k, K_FILL])
        return True
    return False


@compiled
def time_to_change(q, w, p):
    """Minutes until one of the two queues runs empty at the rates of this stretch."""
    if w[q, W_WAITS] > 0.0:
        live = max(0.0, w[q, W_KNOWN] - w[q, W_GONE])
        if w[q, W_FAILS] > 0.0:
            return time_to_clear(live, w[q, W_LIVE_OK] - w[q, W_COMING], 0.0)
        gain = w[q, W_RATE] - w[q, W_COMING]
        if gain < 0.0 and p[q, Q_FRESH_FIRST] > 0.0 and p[q, Q_SIDELINE] <= 0.0:
            # Nothing builds up here: what is not served at once is set aside.
            return -gain / w[q, W_SLOPE] if w[q, W_SLOPE] > 0.0 else np.inf
        return time_to_clear(live, gain, w[q, W_SLOPE])
    if w[q, W_SIDE] > 0.0:
        side = w[q, W_SIDE_IN] - w[q, W_SIDE_OUT]
        if w[q, W_FAILS] > 0.0:
            return time_to_clear(side, w[q, W_SIDE_OK], 0.0)
        if w[q, W_SLOPE] > 0.0:
            return time_to_clear(side, w[q, W_RATE] - w[q, W_COMING], w[q, W_SLOPE])
        return side / w[q, W_SIDE]
    return np.inf


@compiled
def time_to_outpace(q, curves, side_curves, w, p, place, inv, restore_at):
    """Minutes until a ramp serves faster than work becomes too old to wait where it does, if it does not yet."""
    limit, _ = age_limit(q, p, True)
    aside = p[q, Q_SIDELINE] * inv
    if w[q, W_WAITS] > 0.0:
        if p[q, Q_FRESH_FIRST] > 0.0:
            limit = min(limit, p[q, Q_SIDELINE])
        if limit >= NO_LIMIT:
            return np.inf
        old = place - limit * inv
        ageing = (value_at(curves, q, old + 1.0, w[q, W_EARLY]) - value_at(curves, q, old, w[q, W_EARLY])) * inv
        rate = w[q, W_RATE]
    elif w[q, W_SIDE] > 0.0 and limit < NO_LIMIT:
        old = place - limit * inv
        later = aside_by(q, curves, side_curves, w, old + 1.0, aside, restore_at, place)
        ageing = (later - aside_by(q, curves, side_curves, w, old, aside, restore_at, place)) * inv
        rate = w[q, W_RATE] - w[q, W_COMING]
    else:
        return np.inf
    wait = (ageing - rate) / w[q, W_SLOPE]
    return wait if wait > TINY else np.inf


@compiled
def move_queue(q, curves, side_curves, w, p, r, i, place, dt, inv, restore_at):
    """Service, dead letters, sidelining and expiry of a stretch that ends at ``place``, in step ``i`` of the grid.

    Tells whether the queue may now take another course than its rates say.
    """
    removed = False
    known = curves[q, i + 1] if place == i + 1 else w[q, W_KNOWN] + w[q, W_COMING] * dt
    mean = w[q, W_RATE] + 0.5 * w[q, W_SLOPE] * dt
    side_waiting = w[q, W_SIDE_IN] - w[q, W_SIDE_OUT]
    if w[q, W_FAILS] > 0.0:
        live, side = w[q, W_LIVE_OK] * dt, min(w[q, W_SIDE_OK] * dt, side_waiting)
        if p[q, Q_RECEIVES] < NO_LIMIT:
            dead = min((w[q, W_LIVE] - w[q, W_LIVE_OK]) * dt / p[q, Q_RECEIVES], max(0.0, known - w[q, W_GONE] - live))
            dead_side = min((w[q, W_SIDE] - w[q, W_SIDE_OK]) * dt / p[q, Q_RECEIVES], side_waiting - side)
            r[q, R_DEAD] += dead + dead_side
            w[q, W_GONE] += dead
            w[q, W_SIDE_OUT] += dead_side
    else:
        live = (mean if w[q, W_WAITS] > 0.0 else min(mean, w[q, W_COMING])) * dt
        side = 0.0
        if w[q, W_SIDE] > 0.0:
            side = min(mean * dt - live if w[q, W_SLOPE] > 0.0 else w[q, W_SIDE] * dt, side_waiting)
    if w[q, W_KEEPS_UP] > 0.0 and w[q, W_FAILS] <= 0.0:
        live = known - w[q, W_GONE]
    after = max(w[q, W_GONE], min(w[q, W_GONE] + live, known))
    r[q, R_SERVED] += after - w[q, W_GONE] + side
    w[q, W_KNOWN], w[q, W_GONE] = known, after
    w[q, W_SIDE_OUT] += side
    aside = w[q, W_SIDE_IN]
    limit, column = age_limit(q, p, mean > 0.0)
    if set_aside(q, curves, w, p, place, inv, limit):
        side_curves[q, i + 1] = w[q, W_SIDE_IN]
        removed = w[q, W_WAITS] > 0.0 and w[q, W_SIDE_IN] > aside
        limit, column = age_limit(q, p, w[q, W_SIDE] > 0.0)
        if limit < NO_LIMIT and w[q, W_SIDE_IN] > w[q, W_SIDE_OUT]:
            floor = aside_by(q, curves, side_curves, w, place - limit * inv, p[q, Q_SIDELINE] * inv, restore_at, place)
            if floor > w[q, W_SIDE_OUT]:
                r[q, column] += floor - w[q, W_SIDE_OUT]
                w[q, W_SIDE_OUT] = floor
                removed = True
    else:
        side_curves[q, i + 1] = w[q, W_SIDE_IN]
        if limit < NO_LIMIT:
            floor = value_at(curves, q, place - limit * inv, w[q, W_EARLY])
            if floor > w[q, W_GONE]:
                r[q, column] += floor - w[q, W_GONE]
                w[q, W_GONE] = floor
                removed = True
    r[q, R_PEAK] = max(r[q, R_PEAK], w[q, W_KNOWN] - w[q, W_GONE] + w[q, W_SIDE_IN] - w[q, W_SIDE_OUT])
    waits = w[q, W_KNOWN] - w[q, W_GONE] > w[q, W_SCALE]
    return removed or waits != (w[q, W_WAITS] > 0.0)


@compiled
def note_reached(q, w, r, is_fresh, is_empty, now):
    """Keep when fresh age was back and the backlog gone; not if the system around the queue made it wait again."""
    again = w[q, W_HELD] > 0.0 or w[q, W_FAILS] > 0.0
    if is_fresh:
        if r[q, R_FRESH] < 0.0:
            r[q, R_FRESH] = now
    elif again:
        r[q, R_FRESH] = -1.0
    if is_empty:
        if r[q, R_DRAIN] < 0.0:
            r[q, R_DRAIN] = now
    elif again:
        r[q, R_DRAIN] = -1.0


@compiled
def signal_holds(stage, seen):
    """Whether the signal of an admission step holds: no dependency is down, and what the step itself waits for."""
    if not seen[G_HEALTHY]:
        return False
    if stage == 2:
        return seen[G_WARM]
    if stage == 3:
        return seen[G_WITHIN]
    if stage == 4:
        return seen[G_FRESH]
    if stage == 5:
        return seen[G_EMPTY]
    if stage == 7:
        return seen[G_FULL]
    return True


@compiled
def change_step(plan, admission, begun, holds, healthy, now):
    """Take the next admission step if its time has come, or fall back after a collapse. Gives 1, -1 or 0 for neither."""
    stage = int(plan[P_STAGE])
    if not healthy and stage > 1 and plan[P_TROUBLE] >= admission[M_NOTICE] - TINY:
        plan[P_CALM] = 0.0
        back = 1
        if stage == 7 or (stage == 6 and plan[P_LIFT] > 0.0):
            # What was lifted last goes first; if that does not heal it, the doors close at the same moment.
            back = 6
            plan[P_LIFT] = 0.0
        else:
            plan[P_TROUBLE] = 0.0
            begun[1] = now
        plan[P_STAGE] = back
        for later in range(back + 1, NORMAL + 1):
            begun[later] = -1.0
        return -1
    if holds and plan[P_CALM] >= admission[M_HOLD + stage - 1] - TINY:
        plan[P_CALM] = 0.0
        if stage == 6 and plan[P_LIFT] < admission[M_LIFTS]:
            plan[P_LIFT] += 1.0
        else:
            plan[P_STAGE] = stage + 1
            plan[P_LIFT] = 1.0
            begun[stage + 1] = now
        return 1
    return 0


@compiled
def repeats(w, x, g, plan, s, mark_q, mark_k, mark_f, mark_p):
    """Whether the state is that of one period ago, or worse, and the period did the same; keeps it for the next time."""
    same = True
    for q in range(w.shape[0]):
        slack = TINY * w[q, W_KNOWN]
        live, side = w[q, W_KNOWN] - w[q, W_GONE], w[q, W_SIDE_IN] - w[q, W_SIDE_OUT]
        if live < mark_q[q, 0] - slack or side < mark_q[q, 1] - slack:
            same = False
        mark_q[q, 0], mark_q[q, 1] = live, side
    for k in range(x.shape[0]):
        gained = s[k, S_COLLAPSED] - mark_k[k, 0]
        if (
            abs(gained - mark_k[k, 1]) > 1e-6
            or x[k, D_COLLAPSED] != mark_k[k, 2]
            or abs(x[k, D_HIT] - mark_k[k, 4]) > TINY
        ):
            same = False
        if x[k, D_TOKENS] != mark_k[k, 3] and not abs(x[k, D_TOKENS] - mark_k[k, 3]) <= TINY * mark_k[k, 3]:
            same = False
        mark_k[k, 0], mark_k[k, 1], mark_k[k, 2] = s[k, S_COLLAPSED], gained, x[k, D_COLLAPSED]
        mark_k[k, 3], mark_k[k, 4] = x[k, D_TOKENS], x[k, D_HIT]
    for f in range(g.shape[0]):
        if abs(g[f, L_SERVING] - mark_f[f]) > TINY * mark_f[f]:
            same = False
        mark_f[f] = g[f, L_SERVING]
    for column in range(NP):
        if abs(plan[column] - mark_p[column]) > 1e-6:
            same = False
        mark_p[column] = plan[column]
    return same


@compiled
def begin(w, x, g, plan, queues, dependencies, fleets, admission, r, s, lowest, begun):
    """The state at the restore, queues aside."""
    for k in range(x.shape[0]):
        x[k, D_COLLAPSED], x[k, D_TOKENS] = dependencies[k, K_COLLAPSED], dependencies[k, K_TOKENS]
        x[k, D_HIT], x[k, D_SERVICE] = dependencies[k, K_HIT_NOW], 0.0
        for column in range(NS):
            s[k, column] = 0.0
        s[k, S_HEALED] = -1.0 if x[k, D_COLLAPSED] > 0.0 else 0.0
        s[k, S_MARGIN] = np.inf
    for q in range(w.shape[0]):
        k = int(queues[q, Q_DEPENDENCY])
        if k >= 0:
            x[k, D_SERVICE] += min(queues[q, Q_SERVICE], queues[q, Q_CAP])
        for column in range(NW):
            w[q, column] = 0.0
        for column in range(NR):
            r[q, column] = 0.0
        r[q, R_DRAIN] = r[q, R_FRESH] = -1.0
    for f in range(g.shape[0]):
        g[f, L_SERVING] = lowest[f] = fleets[f, F_RUNNING]
        g[f, L_BUCKET], g[f, L_REQUESTS] = fleets[f, F_BURST], fleets[f, F_REQUEST_BURST]
        g[f, L_SETTLED] = 0.0
    plan[P_STAGE] = 1.0 if admission[M_ON] > 0.0 else NORMAL
    plan[P_LIFT] = plan[P_CALM] = plan[P_TROUBLE] = 0.0
    for step in range(begun.shape[0]):
        begun[step] = -1.0
    begun[int(plan[P_STAGE])] = 0.0


@compiled
def share_of(q, k, x, queues):
    """What a queue gets of the room at its dependency while all drain: by what consumers do, as a cap can be."""
    own = min(queues[q, Q_SERVICE], queues[q, Q_CAP])
    if own <= 0.0:
        return 0.0
    return held_to(q, queues, x[k, D_ROOM] * own / x[k, D_SERVICE], 0.0)


@compiled
def is_at_rest(q, k, w, x, queues, stage):
    """Whether a queue has nothing to drain in this step, and its share takes what arrives: others may have the rest."""
    if w[q, W_KNOWN] - w[q, W_GONE] > w[q, W_SCALE] or w[q, W_COMING] > share_of(q, k, x, queues):
        return False
    return stage < 5 or w[q, W_SIDE_IN] - w[q, W_SIDE_OUT] <= w[q, W_SCALE]


@compiled
def offer(w, x, g, plan, queues, dependencies, admission, now):
    """Direct traffic, and what consumers can do; gives the time up to which that only grows, infinite if it does not."""
    stage, until = int(plan[P_STAGE]), np.inf
    for k in range(x.shape[0]):
        x[k, D_FRESH] = dependencies[k, K_FRESH] * (1.0 - x[k, D_HIT]) / (1.0 - dependencies[k, K_HIT_REST])
        x[k, D_SHED] = 0.0
        if stage < 3:
            x[k, D_SHED], x[k, D_FRESH] = x[k, D_FRESH], 0.0
        x[k, D_LOAD] = dependencies[k, K_CONTROL] + x[k, D_FRESH]
        x[k, D_LIMITED] = 1.0 if stage < NORMAL or x[k, D_TOKENS] <= 0.0 else 0.0
        each = dependencies[k, K_ATTEMPTS]
        if x[k, D_LIMITED] > 0.0:
            each = min(each, dependencies[k, K_SUSTAINED])
        x[k, D_FAILING] = each * x[k, D_LOAD]
        bears = dependencies[k, K_ROOM] if dependencies[k, K_ROOM] < NO_LIMIT else dependencies[k, K_CAPACITY]
        free = max(0.0, bears - dependencies[k, K_CONTROL] - x[k, D_FRESH])
        x[k, D_ROOM] = x[k, D_LEFT] = admission[M_SHARE] * free
        x[k, D_DRAINING] = x[k, D_SERVICE]
    holds_back = 4 <= stage < 7
    for q in range(w.shape[0]):
        k = int(queues[q, Q_DEPENDENCY])
        if holds_back and k >= 0 and is_at_rest(q, k, w, x, queues, stage):
            x[k, D_LEFT] -= w[q, W_COMING]
            x[k, D_DRAINING] -= min(queues[q, Q_SERVICE], queues[q, Q_CAP])
    for q in range(w.shape[0]):
        k, f = int(queues[q, Q_DEPENDENCY]), int(queues[q, Q_FLEET])
        room = np.inf
        if stage < 7 and k >= 0:
            room = share_of(q, k, x, queues)
        if holds_back and k >= 0:
            service = min(queues[q, Q_SERVICE], queues[q, Q_CAP])
            if not is_at_rest(q, k, w, x, queues, stage) and x[k, D_DRAINING] > 0.0:
                room = held_to(q, queues, x[k, D_LEFT] * service / x[k, D_DRAINING], 0.0)
            if stage == 6:
                room = held_to(q, queues, room, plan[P_LIFT] / admission[M_LIFTS])
        in_service = g[f, L_SHARE] if f >= 0 else 1.0
        until = min(until, now + set_rate(q, w, queues, now, in_service, room, stage, admission[M_FLOOR]))
    return until


@compiled
def take(w, x, plan, curves, side_curves, queues, dependencies, admission, r, place, span, inv, restore_at, first):
    """What the consumers take, and the load and the attempts that it makes."""
    stage = int(plan[P_STAGE])
    for q in range(w.shape[0]):
        has_capacity = w[q, W_RATE] + w[q, W_SLOPE] > 0.0
        if first:
            # Before deadlines are looked at: the turn of what is set aside comes later.
            w[q, W_SIDE_BASE] = w[q, W_GONE]
            limit, _ = age_limit(q, queues, has_capacity)
            set_aside(q, curves, w, queues, place, inv, limit)
            w[q, W_SIDE_FIRST] = side_curves[q, restore_at] = w[q, W_SIDE_IN]
        if queues[q, Q_DEADLINE] < NO_LIMIT and has_capacity:
            # A ramp that has just come up to what arrives leaves something over at once.
            gain = w[q, W_RATE] - w[q, W_COMING]
            slack = TINY * w[q, W_COMING]
            spare = (
                stage >= 5
                and (gain > slack or (w[q, W_SLOPE] > 0.0 and gain >= -slack))
                and w[q, W_KNOWN] - w[q, W_GONE] <= w[q, W_SCALE]
            )
            discard(q, curves, side_curves, w, queues, r, place, inv, restore_at, spare)
        set_demand(q, w, queues, span, admission[M_REPLAY], stage)
        k = int(queues[q, Q_DEPENDENCY])
        if k >= 0:
            each = queues[q, Q_ATTEMPTS]
            if x[k, D_LIMITED] > 0.0:
                each = min(each, dependencies[k, K_SUSTAINED])
            x[k, D_LOAD] += w[q, W_LIVE] + w[q, W_SIDE]
            x[k, D_FAILING] += each * (w[q, W_LIVE] + w[q, W_SIDE])


@compiled
def look(w, x, seen, queues, dependencies, admission, r, s, now):
    """Which dependencies are down, what still succeeds, and what all that tells."""
    for column in (G_HEALTHY, G_WARM, G_WITHIN, G_FRESH, G_EMPTY, G_REACHED):
        seen[column] = True
    for k in range(x.shape[0]):
        judge(k, x, dependencies, s, now)
        capacity = dependencies[k, K_CAPACITY]
        seen[G_WARM] &= x[k, D_HIT] >= 0.9 * dependencies[k, K_HIT_REST] - TINY
        seen[G_WITHIN] &= x[k, D_LOAD] <= admission[M_OBJECTIVE] * capacity * (1.0 + TINY)
        if x[k, D_COLLAPSED] > 0.0:
            seen[G_HEALTHY] = False
            share_goodput(k, x, dependencies, queues, w)
    for q in range(w.shape[0]):
        is_fresh = w[q, W_KEEPS_UP] > 0.0 and w[q, W_FAILS] <= 0.0
        is_empty = is_fresh and w[q, W_SIDE_IN] - w[q, W_SIDE_OUT] <= w[q, W_SCALE]
        note_reached(q, w, r, is_fresh, is_empty, now)
        seen[G_FRESH] &= is_fresh
        seen[G_EMPTY] &= is_empty
        seen[G_REACHED] &= r[q, R_FRESH] >= 0.0 and r[q, R_DRAIN] >= 0.0


@compiled
def first_change(w, x, plan, seen, holds, curves, side_curves, queues, dependencies, admission, place, inv, restore_at):
    """Minutes until a queue runs empty, a quota runs out, a cache is warm or an admission step may change."""
    stage = int(plan[P_STAGE])
    dt = np.inf
    for q in range(w.shape[0]):
        dt = min(dt, time_to_change(q, w, queues))
        if w[q, W_SLOPE] > 0.0:
            dt = min(dt, time_to_outpace(q, curves, side_curves, w, queues, place, inv, restore_at))
    for k in range(x.shape[0]):
        if x[k, D_BURN] > 0.0 and x[k, D_LIMITED] <= 0.0 and x[k, D_TOKENS] < NO_LIMIT:
            dt = min(dt, x[k, D_TOKENS] / x[k, D_BURN])
        if stage == 2 and not seen[G_WARM] and x[k, D_COLLAPSED] <= 0.0 and dependencies[k, K_FILL] > 0.0:
            gap = (dependencies[k, K_HIT_REST] - x[k, D_HIT]) / (0.1 * dependencies[k, K_HIT_REST])
            if gap > 1.0:
                dt = min(dt, dependencies[k, K_FILL] * np.log(gap))
    if stage < NORMAL:
        if holds:
            dt = min(dt, admission[M_HOLD + stage - 1] - plan[P_CALM])
        if not seen[G_HEALTHY] and stage > 1:
            dt = min(dt, admission[M_NOTICE] - plan[P_TROUBLE])
    return dt


@compiled
def write_row(course, row, t, w, x, g, plan, curves, r, t0, step):
    """The state at a point of the grid."""
    for q in range(w.shape[0]):
        record(q, course, row, t, curves, w, r, t0, step)
    column = NT * w.shape[0]
    for k in range(x.shape[0]):
        course[row, column] = x[k, D_ATTEMPTS]
        course[row, column + 1] = x[k, D_COLLAPSED]
        column += 2
    for f in range(g.shape[0]):
        course[row, column] = g[f, L_SERVING]
        column += 1
    course[row, column] = plan[P_STAGE]


@compiled
def quiet_steps(i, most, steady, curves, w, x, g, queues, inv):
    """How many steps of the grid from ``i`` on, at most ``most``, bring nothing new, so that they can be taken as one.

    Rates hold for all of them. Nothing may fail, be set aside or become too old meanwhile, since that differs from step to step.
    """
    most = min(most, steady[i] - i)
    if most < 2:
        return 1
    for k in range(x.shape[0]):
        if x[k, D_COLLAPSED] > 0.0:
            return 1
    for f in range(g.shape[0]):
        if g[f, L_SETTLED] <= 0.0:
            return 1
    for q in range(w.shape[0]):
        if queues[q, Q_FRESH_FIRST] > 0.0:
            return 1
        limit, _ = age_limit(q, queues, True)
        if limit >= NO_LIMIT:
            continue
        # What has left only grows: work that is too old at the end of a stretch and had not left at its start may be removed.
        while most > 1 and value_at(curves, q, i + most - limit * inv, w[q, W_EARLY]) > w[q, W_GONE]:
            if value_at(curves, q, i + 2 - limit * inv, w[q, W_EARLY]) > w[q, W_GONE]:
                return 1
            most //= 2
    return most


@compiled
def run_draw(
    step, t0, bases, steady, at_trigger, first_rates, trigger, queues, dependencies, fleets, admission, settled, period,
    r, s, lowest, begun, overall, course, waits,
    curves, side_curves, launched, w, x, g, plan, seen, mark_q, mark_k, mark_f, mark_p,
):  # fmt: skip
    """Simulate one draw; gives the last row of its course, or of what waits."""
    nq, points = bases.shape
    restore_at = round(-t0 / step)
    inv = 1.0 / step
    last = restore_at
    begin(w, x, g, plan, queues, dependencies, fleets, admission, r, s, lowest, begun)
    for q in range(nq):
        w[q, W_EARLY] = queues[q, Q_ARRIVALS] * first_rates[q] * step
        if w[q, W_EARLY] <= 0.0:
            # Without a rate at the trigger, what waited there is taken to have come at that moment.
            w[q, W_EARLY] = queues[q, Q_BEFORE] / TINY
        r[q, R_ARRIVED] = queues[q, Q_BEFORE]  # until the end, when arrivals are taken from what is known
        fill_curve(q, curves, bases, queues, at_trigger[q], first_rates[q], trigger, t0, step)
        outage(q, curves, w, queues, r, trigger, t0, step, restore_at, course, waits)
        supersede(q, curves, w, queues, r, restore_at)
    check = restore_at + settled if period > 0 else points
    marks = 0
    overall[O_END], overall[O_NEVER], overall[O_OVER], overall[O_FALLBACKS] = t0 + (points - 1) * step, 0.0, 0.0, 0.0
    # Rates are looked at anew when something may have changed them: ``stale``, or the next change is due.
    first, stale, holds = True, True, False
    change_at = 0.0

    i = restore_at - 1
    after = restore_at
    while after < points - 1:
        i, after = after, after + 1
        now, cell_end = t0 + i * step, t0 + after * step
        seen[G_FULL] = True
        for f in range(g.shape[0]):
            stale |= move_fleet(f, g, fleets, launched, i, restore_at, now, step, plan[P_STAGE] == NORMAL)
            lowest[f] = min(lowest[f], g[f, L_SERVING])
            seen[G_FULL] &= g[f, L_FULL] > 0.0
        for q in range(nq):
            coming = (curves[q, i + 1] - curves[q, i]) * inv
            if abs(coming - w[q, W_COMING]) > SAME_RATE * coming:
                w[q, W_COMING] = coming
                stale = True
        if not stale and course.shape[0] == 0 and plan[P_STAGE] >= NORMAL:
            most = min(check, points - 1) - i
            if change_at < t0 + (i + most) * step:
                most = int((change_at - now) * inv - TINY)
            after = i + quiet_steps(i, most, steady, curves, w, x, g, queues, inv)
            cell_end = t0 + after * step

        cuts = 0
        place = float(i)
        while place < after:
            if stale or now >= change_at - TINY * step:
                cuts += 1
                grows_until = offer(w, x, g, plan, queues, dependencies, admission, now)
                span = min(grows_until, cell_end) - now
                take(
                    w,
                    x,
                    plan,
                    curves,
                    side_curves,
                    queues,
                    dependencies,
                    admission,
                    r,
                    place,
                    span,
                    inv,
                    restore_at,
                    first,
                )
                look(w, x, seen, queues, dependencies, admission, r, s, now)
                first = False
                holds = False
                if plan[P_STAGE] < NORMAL:
                    holds = signal_holds(int(plan[P_STAGE]), seen)
                    if not holds:
                        plan[P_CALM] = 0.0
                    if seen[G_HEALTHY]:
                        plan[P_TROUBLE] = 0.0
                    change = 0
                    if cuts < MOST_CUTS:
                        change = change_step(plan, admission, begun, holds, seen[G_HEALTHY], now)
                    if change != 0:
                        overall[O_FALLBACKS] += change < 0
                        continue
                elif seen[G_REACHED] and seen[G_HEALTHY] and seen[G_FULL]:
                    overall[O_END], overall[O_OVER] = now, 1.0
                    for k in range(x.shape[0]):
                        # What is asked of it goes on like this: where nothing had to recover, that is all there is.
                        s[k, S_PEAK] = max(s[k, S_PEAK], x[k, D_ATTEMPTS])
                    break
                change_at = now + first_change(
                    w,
                    x,
                    plan,
                    seen,
                    holds,
                    curves,
                    side_curves,
                    queues,
                    dependencies,
                    admission,
                    place,
                    inv,
                    restore_at,
                )
                change_at = min(change_at, grows_until)
                stale = grows_until < np.inf

            if cuts >= MOST_CUTS or cell_end - change_at < TINY * step:
                dt, place = cell_end - now, float(after)
            else:
                dt, place = change_at - now, (change_at - t0) * inv
            for k in range(x.shape[0]):
                stale |= move_dependency(k, x, dependencies, s, dt, plan[P_STAGE] >= 2)
            for q in range(nq):
                stale |= move_queue(q, curves, side_curves, w, queues, r, after - 1, place, dt, inv, restore_at)
            if holds:
                plan[P_CALM] += dt
            if not seen[G_HEALTHY] and 1 < plan[P_STAGE] < NORMAL:
                plan[P_TROUBLE] += dt
            now += dt

        if course.shape[0] > 0:
            last = after
            write_row(course, last, now, w, x, g, plan, curves, r, t0, step)
        if waits.shape[0] > 0:
            last = after
            note_waiting(waits, i, after, w)
        if overall[O_OVER] > 0.0:
            break
        if after == check:
            check += period
            marks += 1
            for k in range(x.shape[0]):
                unserved = s[k, S_SHED] + s[k, S_FAILED]
                s[k, S_EACH] = (unserved - s[k, S_UNSERVED]) / (period * step)
                s[k, S_UNSERVED] = unserved
            again = repeats(w, x, g, plan, s, mark_q, mark_k, mark_f, mark_p)
            if again and marks > 2:
                overall[O_END], overall[O_NEVER] = cell_end, 1.0
                break
    for q in range(nq):
        r[q, R_ARRIVED] = w[q, W_KNOWN] + r[q, R_SUPERSEDED] - queues[q, Q_BEFORE]
        r[q, R_LIVE] = w[q, W_KNOWN] - w[q, W_GONE]
        r[q, R_SIDE] = w[q, W_SIDE_IN] - w[q, W_SIDE_OUT]
    return last


@njit(cache=True, error_model="numpy", nogil=True)
def simulate(
    step, t0, bases, at_trigger, first_rates, outages, queues, dependencies, fleets, admission, settled, period,
    results, depend, lowest, begun, overall, course, waits, lasts,
):  # fmt: skip
    """Simulate every draw; fill ``results``, ``depend``, ``lowest``, ``begun``, ``overall``, ``lasts``, and what is to be kept.

    ``bases``: (queues, points) cumulative base arrivals on a grid of ``step`` minutes from ``t0`` on; ``at_trigger`` and
    ``first_rates``: (draws, queues) the same and the rate at the trigger. ``outages``: (draws,). ``queues``: (draws, queues,
    NQ), ``dependencies``: (draws, dependencies, NK), ``fleets``: (draws, fleets, NF).
    ``settled``: (draws,) steps after the restore from which on arrivals repeat every ``period`` steps; 0 if they do not.
    ``results``: (draws, queues, NR), ``depend``: (draws, dependencies, NS), ``lowest``: (draws, fleets), ``overall``:
    (draws, NO), ``begun``: (draws, 9) start of each admission step, -1 if never. ``course``: (points, columns) for one
    draw, or empty: NT for each queue; attempts and state of each dependency; each fleet in service; the admission step.
    ``waits``: (draws, points, queues) what waits from the trigger on, or no draws. ``lasts``: (draws,) the last row of either.
    """
    nq, points = bases.shape
    nk, nf = dependencies.shape[1], fleets.shape[1]
    curves, side_curves = np.zeros((nq, points)), np.zeros((nq, points))
    launched = np.zeros((nf, points))
    w, x, g, plan = np.zeros((nq, NW)), np.zeros((nk, ND)), np.zeros((nf, NL)), np.zeros(NP)
    seen = np.zeros(NG, dtype=np.bool_)
    mark_q, mark_k, mark_f, mark_p = np.zeros((nq, 2)), np.zeros((nk, 5)), np.zeros(nf), np.zeros(NP)
    none, keeps = np.zeros((0, nq)), waits.shape[0] > 0
    steady = np.zeros(points, dtype=np.int64)
    find_steady(bases, steady)
    for d in range(outages.shape[0]):
        kept = waits[d] if keeps else none
        lasts[d] = run_draw(
            step, t0, bases, steady, at_trigger[d], first_rates[d], -outages[d], queues[d], dependencies[d], fleets[d],
            admission, settled[d], period, results[d], depend[d], lowest[d], begun[d], overall[d], course,
            kept, curves, side_curves, launched, w, x, g, plan, seen, mark_q, mark_k, mark_f, mark_p,
        )  # fmt: skip
