"""The race of plan appliers: every interleaving, the published sequence, and what removes it."""

from dataclasses import replace

import pytest

from afterload.errors import ModelError
from afterload.model.race import PUBLISHED, Automation, explore


# Event summary: one applier checks 41 against 40 and stalls, another applies 43, the first overwrites it with 41, and the
# second's clean-up deletes what is older than 43, the active 41 included.
def test_the_shortest_sequence_is_the_published_one():
    found = explore(PUBLISHED)
    assert [(step.applier, step.action, step.plan, step.active) for step in found.shortest] == [
        (1, "checks", 41, 40),
        (2, "checks", 43, 40),
        (2, "applies", 43, 43),
        (1, "applies", 41, 41),
        (2, "cleans up", 43, None),
    ]
    assert found.shortest[-1].deleted == (40, 41)
    # All shortest sequences are this one: any two of three appliers, and either of them checks first.
    assert found.shortest_count == 3 * 2 * 2
    assert str(found.shortest[-1]) == "applier 2 cleans up after 43: deletes 40, 41; the record is empty"


# Event summary: every later applier refuses to act on the empty state, so that people had to repair it.
def test_nothing_refills_the_record():
    found = explore(PUBLISHED)
    assert not found.can_refill
    assert found.refused_after == (43,)
    assert not found.is_safe


@pytest.mark.parametrize(
    ("appliers", "check_at", "is_atomic"),
    [
        (2, "pick-up", True),
        (2, "apply", False),
        (3, "pick-up", True),
        (3, "pick-up", False),
        (3, "apply", True),
        (4, "pick-up", True),
    ],
)
@pytest.mark.parametrize(
    ("clean_up", "generations"), [("older than applied", 1), ("keep generations", 2), ("never the active", 1)]
)
def test_a_version_guard_removes_every_interleaving(appliers, check_at, is_atomic, clean_up, generations):
    rules = Automation(appliers, (40, 41, 43), check_at, clean_up, generations, is_atomic, version_guard=True)
    found = explore(rules)
    assert found.is_safe
    assert found.shortest == ()
    assert found.states > 20
    # The whole space was visited: a smaller limit refuses instead of saying "safe".
    assert explore(rules, most_states=found.states) == found
    with pytest.raises(ModelError, match="stops early proves nothing"):
        explore(rules, most_states=found.states - 1)


@pytest.mark.parametrize(("guard", "states", "empty"), [(False, 430, 49), (True, 288, 0)])
def test_states_counted_by_an_independent_walk(guard, states, empty):
    """The published rules written down again, depth first."""

    def successors(active, store, appliers):
        for place, (phase, plan, seen) in enumerate(appliers):

            def put(*after, place=place):
                return (*appliers[:place], after, *appliers[place + 1 :])

            if phase == "idle":
                for taken in sorted(store):
                    if active is not None and taken > active:
                        yield active, store, put("holds", taken, active if guard else 0)
            elif phase == "holds":
                if plan in store and (not guard or active == seen):
                    yield plan, store, put("done", plan, 0)
                else:
                    yield active, store, put("idle", 0, 0)
            else:
                kept = frozenset(each for each in store if each >= plan)
                yield (active if active in kept else None), kept, put("idle", 0, 0)

    start = (40, frozenset({40, 41, 43}), (("idle", 0, 0),) * 3)
    reached, stack, steps = {start}, [start], 0
    while stack:
        for after in successors(*stack.pop()):
            steps += 1
            if after not in reached:
                reached.add(after)
                stack.append(after)
    found = explore(replace(PUBLISHED, version_guard=guard))
    assert len(reached) == found.states == states
    assert steps == found.transitions
    assert sum(active is None for active, _, _ in reached) == found.empty_states == empty


def test_one_applier_or_no_clean_up_is_safe():
    assert explore(replace(PUBLISHED, appliers=1)).is_safe
    assert explore(replace(PUBLISHED, clean_up="none")).is_safe
    two = explore(replace(PUBLISHED, appliers=2))
    assert len(two.shortest) == 5
    assert two.shortest_count == 4


def test_checking_again_before_the_write_is_not_enough():
    found = explore(replace(PUBLISHED, check_at="apply"))
    assert not found.is_safe
    assert len(found.shortest) == 7


def test_keeping_generations_only_moves_the_race():
    kept = replace(PUBLISHED, clean_up="keep generations", generations=2)
    assert explore(kept).is_safe
    assert not explore(replace(kept, plans=(40, 41, 42, 43))).is_safe
    assert explore(replace(kept, generations=1)).shortest == explore(PUBLISHED).shortest


def test_sparing_the_active_plan_needs_to_be_one_step():
    spares = replace(PUBLISHED, clean_up="never the active")
    assert explore(spares).is_safe
    found = explore(replace(spares, is_clean_up_atomic=False))
    assert [step.action for step in found.shortest][-3:] == ["lists", "applies", "cleans up"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"appliers": 0},
        {"plans": ()},
        {"plans": (41, 40)},
        {"plans": (40, 40)},
        {"check_at": "never"},
        {"clean_up": "all"},
        {"generations": 0},
    ],
)
def test_bad_rules_are_refused(wrong):
    with pytest.raises(ModelError):
        Automation(**wrong)
