"""The face that a notebook sees: open a workbook, then one call a section.

from afterload.chapters import open_workbook
workbook = open_workbook(scenario, overrides)
workbook.backlog()
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

from afterload.clients import ClientKind, client_kinds
from afterload.errors import ParameterError
from afterload.figures import (
    Figure,
    Prose,
    Table,
    account,
    alignment,
    answer,
    audit,
    backlog,
    causes,
    clients,
    compare,
    control_loops,
    dependency,
    evidence,
    flapping,
    idempotency,
    jitter,
    launches,
    live,
    plan,
    pools,
    postmortem,
    postmortem_charts,
    race,
    recovery,
    removals,
    retries,
    runbook,
    telemetry,
    timeline,
    worth,
)
from afterload.findings import SplitWindow, split_windows
from afterload.findings.audit import Audit, build_audit, inventory_of
from afterload.findings.live import Live, live_answer
from afterload.impairments import (
    ControlEstimate,
    RemovalEstimate,
    estimate_control_loops,
    estimate_flapping,
    estimate_removals,
)
from afterload.intake.importing import Imported, import_again
from afterload.plan.compare import Comparison, Snapshot
from afterload.plan.compare import compare as compare_snapshots
from afterload.plan.exercises import Exercise, build_exercises
from afterload.plan.kept import Entered, entered_beside
from afterload.plan.runbook import Runbook, agreed
from afterload.plan.snapshots import open_snapshot
from afterload.replays import ReplayEstimate, estimate_replays
from afterload.results import Results
from afterload.scenario import LastOpened, Overrides

if TYPE_CHECKING:
    from afterload.forms.workbook import FormWorkbook

__all__ = ["PARAMETERS", "Workbook", "edit_workbook", "open_workbook"]

PARAMETERS = ("scenario", "overrides")
Shown = Figure | Prose | Table
# JupyterLab measures 0 for a chart as wide as its container, and then draws it again without end, which freezes the
# page. So a notebook holds a width; the packet's page stretches the chart.
CHART_WIDTH_PX = 720


def _sized(shown: Shown) -> Shown:
    """A single chart gets the notebook's width. Charts below each other have their own already."""
    if not isinstance(shown, Figure) or "vconcat" in shown.chart:
        return shown
    return replace(shown, chart={**shown.chart, "width": CHART_WIDTH_PX})


class Workbook(Results):
    """One team's chapters. Every method is one section of a chapter and gives something that shows itself."""

    @cached_property
    def findings(self) -> Audit:
        """The audit of the scenario and its exports."""
        return build_audit(self.estimates, inventory_of(self.loaded))

    @cached_property
    def control_estimates(self) -> tuple[ControlEstimate, ...]:
        """Queues of leases, heartbeats and the like."""
        return estimate_control_loops(self.loaded)

    @cached_property
    def removal_estimates(self) -> tuple[tuple[RemovalEstimate, ...], tuple[str, ...]]:
        """Fleets while launches fail, and why others are left out."""
        return estimate_removals(self.loaded)

    @cached_property
    def client_kinds(self) -> tuple[ClientKind, ...]:
        """The kinds of client, with their policies."""
        return tuple(client_kinds(self.loaded.scenario))

    @cached_property
    def pool_cases(self) -> tuple[pools.PoolCase, ...]:
        """The worker pools, with their bursts."""
        return pools.pool_cases(self.loaded)

    @cached_property
    def replays(self) -> tuple[ReplayEstimate, ...]:
        """Side effects of work that is done more than once."""
        return tuple(estimate_replays(self.estimates))

    @cached_property
    def race_cases(self) -> tuple[race.Case, ...]:
        """The team's plan automation, and the same with each remedy."""
        return race.race_variants(self.loaded)

    @cached_property
    def windows(self) -> tuple[SplitWindow, ...]:
        """Impact windows split at the restore."""
        return split_windows(self.loaded)

    def answer(self) -> Prose:
        """The answer in plain words."""
        return answer.answer(self.estimates, self.plan, self.recovery)

    def doubts(self) -> Prose:
        """Assumptions and doubts behind the figures."""
        return answer.all_doubts(self.estimates, self.recovery)

    def evidence(self) -> Table:
        """What the headline numbers rest on."""
        return evidence.evidence_table(self.estimates)

    @cached_property
    def imported(self) -> Imported:
        """The exports and metrics that the scenario names, read once more."""
        return import_again(self.loaded)

    def inputs_answer(self) -> Prose:
        """What the team's files are, and how many values they gave."""
        return account.account_answer(self.imported)

    def inputs_table(self) -> Prose | Table:
        """Every value that the files offer, and what stands in the scenario."""
        return account.account_table(self.imported)

    def inputs_missing(self) -> Prose | Table:
        """What the files do not tell, and the command that would export it."""
        return account.account_missing(self.imported)

    def inputs_remarks(self) -> Prose:
        """What the readers refused, doubted or must ask."""
        return account.account_remarks(self.imported)

    def timeline_answer(self) -> Prose:
        """The incident in words."""
        return timeline.timeline_answer(self.loaded, self.windows)

    def impact_windows(self) -> Shown:
        """Impact windows against the restore."""
        return _sized(timeline.windows_figure(self.loaded, self.windows))

    def events(self) -> Shown:
        """Every event of the timeline."""
        return _sized(timeline.events_figure(self.loaded))

    def backlog_answer(self) -> Prose:
        """Each queue in words."""
        return backlog.backlog_answer(self.estimates)

    def backlog(self) -> Shown:
        """Items waiting over time."""
        return _sized(backlog.backlog_figure(self.estimates))

    def first_attempt_age(self) -> Shown:
        """Age of work at its first attempt over time."""
        return _sized(backlog.age_figure(self.estimates))

    def catch_up(self) -> Shown:
        """Drain time against service rate."""
        return _sized(backlog.catch_up_figure(self.estimates))

    def dependency_load(self) -> Shown:
        """What the drain asks of its dependency."""
        return _sized(backlog.dependency_figure(self.estimates))

    def retries_answer(self) -> Prose:
        """Each call stack in words."""
        return retries.retries_answer(self.estimates)

    def calls_by_layer(self) -> Shown:
        """Calls at each layer for one at the top."""
        return _sized(retries.layers_figure(self.estimates))

    def multiplier(self) -> Shown:
        """The retry multiplier at any failure probability."""
        return _sized(retries.probability_figure(self.estimates))

    def clients_answer(self) -> Prose:
        """Each kind of client in words."""
        return clients.clients_answer(self.loaded, self.client_kinds)

    def clients(self) -> Shown:
        """How each kind of client retries, and what its fleet holds."""
        return _sized(clients.clients_table(self.loaded, self.client_kinds))

    def client_fleets(self) -> Shown:
        """What each fleet of clients sends before and after its limit binds."""
        return _sized(clients.fleets_figure(self.loaded, self.client_kinds))

    def retry_waves(self) -> Shown:
        """Load of clients that failed together, with each kind of jitter."""
        return _sized(jitter.waves_figure(self.loaded, jitter.retry_waves(self.client_kinds)))

    def worker_pools_answer(self) -> Prose:
        """Each bounded queue and worker pool in words."""
        return pools.pools_answer(self.pool_cases)

    def worker_pools(self) -> Shown:
        """A burst through each bounded queue and worker pool."""
        return _sized(pools.pools_figure(self.loaded, self.pool_cases))

    def idempotency_answer(self) -> Prose:
        """Side effects that happen twice, in words."""
        return idempotency.idempotency_answer(self.estimates, self.replays)

    def idempotency(self) -> Shown:
        """Duplicates without keys, and replays after a key's life."""
        return idempotency.idempotency_table(self.replays)

    def launches_answer(self) -> Prose:
        """Each fleet in words."""
        return launches.launches_answer(self.estimates)

    def launches(self) -> Shown:
        """Instances in service after the restore."""
        return _sized(launches.launch_figure(self.estimates))

    def removal(self) -> Shown:
        """What can remove capacity, and how long it takes to get it back."""
        return _sized(launches.automation_table(self.estimates))

    def removal_remedies(self) -> Shown:
        """Instances in service while launches fail, today and with each remedy."""
        return _sized(removals.removal_figure(*self.removal_estimates, self.loaded.name))

    def removal_traps(self) -> Prose:
        """What goes wrong when processes are suspended and resumed."""
        return removals.removal_traps(self.removal_estimates[0])

    def flapping(self) -> Shown:
        """Targets that get traffic before their network state exists."""
        return _sized(flapping.flapping_figure(*estimate_flapping(self.loaded), self.loaded.name))

    def dependency_answer(self) -> Prose:
        """Each dependency in words."""
        return dependency.dependency_answer(self.coupling)

    def hidden_capacity(self) -> Shown:
        """Load of each dependency against its hidden and its advertised capacity."""
        return _sized(dependency.hidden_figure(self.coupling))

    def triggers(self) -> Shown:
        """Which outages a dependency survives by itself."""
        return _sized(dependency.trigger_figure(self.coupling))

    def control_loops(self) -> Prose:
        """Each queue of a control loop in words."""
        return control_loops.control_loops_answer(self.control_estimates)

    def timeout_goodput(self) -> Shown:
        """Work served in time against the length of a queue with time-outs."""
        return _sized(control_loops.goodput_figure(self.control_estimates, self.loaded.name))

    def timeout_remedies(self) -> Shown:
        """What gets a queue with time-outs down again."""
        return _sized(control_loops.remedies_figure(self.control_estimates, self.loaded.name))

    def recovery_answer(self) -> Prose:
        """The coupled recovery in words."""
        return recovery.recovery_answer(self.recovery)

    def recovery_course(self) -> Shown:
        """The course of the recovery as the scenario is."""
        return recovery.recovery_figure(self.recovery)

    def recovery_steps(self) -> Shown:
        """The course of the recovery under the seven steps of admission."""
        return recovery.steps_figure(self.recovery)

    def recovery_cases(self) -> Shown:
        """The same recovery in other circumstances."""
        return recovery.variants_figure(self.recovery)

    def recovery_movers(self) -> Shown:
        """Which uncertain input moves the answer most."""
        return recovery.movers_figure(self.recovery)

    def race_answer(self) -> Prose:
        """Whether any interleaving of the team's plan automation empties its active state."""
        return race.race_answer(self.loaded, self.race_cases)

    def race(self) -> Shown:
        """The shortest sequence that empties the active state, and what each remedy leaves of it."""
        return race.race_figure(self.loaded, self.race_cases)

    @cached_property
    def entered(self) -> Entered:
        """What people entered beside the plan: owners agreed on, due dates, progress and notes."""
        return entered_beside(self.loaded.scenario.team)

    def plan_answer(self) -> Prose:
        """The plan in words."""
        return plan.plan_answer(self.plan, self.entered)

    def plan_table(self) -> Table:
        """All lines of the plan, short."""
        return plan.plan_table(self.plan, self.entered)

    def worth(self) -> Shown:
        """Drain today and with each change alone."""
        return _sized(worth.worth_figure(self.plan, self.estimates))

    def waterfall(self) -> Shown:
        """From today to planned, change by change."""
        return worth.waterfall_figure(self.plan, self.estimates)

    def before_after(self) -> Shown:
        """The recovery today and with the whole plan, on one axis."""
        return worth.before_after_figure(self.plan, self.estimates)

    def plan_details(self) -> Prose:
        """Every line of the plan, whole."""
        return plan.plan_details(self.plan, self.entered)

    @cached_property
    def runbook(self) -> Runbook:
        """The recovery runbook with the owners that people agreed on."""
        return agreed(self.runbook_steps, self.entered.kept)

    @cached_property
    def exercises(self) -> tuple[Exercise, ...]:
        """The exercises."""
        return build_exercises(self.estimates, self.runbook, self.coupling)

    def runbook_answer(self) -> Prose:
        """The runbook in words."""
        return runbook.runbook_answer(self.runbook)

    def runbook_table(self) -> Table:
        """The seven steps, short."""
        return runbook.runbook_table(self.runbook)

    def runbook_details(self) -> Prose:
        """Every step of the runbook, whole."""
        return runbook.runbook_details(self.runbook)

    def runbook_pauses(self) -> Prose:
        """Automation to pause, and what to mind when it is resumed."""
        return runbook.runbook_pauses(self.runbook)

    def exercises_answer(self) -> Prose:
        """The exercises in words."""
        return runbook.exercises_answer(self.exercises)

    def exercises_table(self) -> Table:
        """All exercises, short."""
        return runbook.exercises_table(self.exercises)

    def exercises_details(self) -> Prose:
        """Every exercise, whole, with its exports."""
        return runbook.exercises_details(self.exercises)

    def measured_answer(self) -> Prose:
        """The measured recovery in words."""
        return telemetry.measured_answer(self.loaded, self.measurements)

    def measured_signals(self) -> Shown:
        """Each measured signal over time, and when it was back for good."""
        return _sized(telemetry.measured_signals(self.measurements))

    def throughput(self) -> Prose | Table:
        """What went in and out while the backlog drained."""
        return telemetry.throughput_table(self.measurements)

    def measured_attempts(self) -> Prose | Table:
        """Attempts for each logical request, layer by layer."""
        return telemetry.attempts_table(self.measurements)

    def back_test(self) -> Shown:
        """The drain as it was foretold at the restore, beside what happened."""
        return _sized(telemetry.back_tested(self.loaded, self.measurements))

    @cached_property
    def going_on(self) -> Live | None:
        """The recovery that is going on, by the readings that the scenario names; None without one."""
        return live_answer(self.loaded.readings, self.loaded) if self.loaded.readings else None

    def live_answer(self) -> Prose:
        """When the backlog is empty, what may be drained, and what must wait."""
        return live.live_words(self.going_on, self.loaded)

    def live_course(self) -> Shown:
        """The readings, and the backlog expected from now on."""
        return _sized(live.live_figure(self.loaded, self.going_on))

    def live_steps(self) -> Prose | Table:
        """The seven steps of admission, now."""
        return live.live_steps_table(self.going_on)

    def live_readings(self) -> Prose | Table:
        """Every reading."""
        return live.live_readings_table(self.going_on)

    @cached_property
    def comparison(self) -> Comparison | None:
        """This scenario against the one that it names under compare_with."""
        other = self.loaded.scenario.compare_with
        if other is None:
            return None
        return compare_snapshots(open_snapshot(self.loaded.file(other), other), Snapshot.of(self.estimates, self.plan))

    def comparison_answer(self) -> Prose:
        """How much differs from the other scenario, in words."""
        return compare.compare_answer(self.comparison)

    def comparison_inputs(self) -> Prose | Table:
        """Inputs that differ."""
        return compare.compare_table(self.comparison, "inputs")

    def comparison_results(self) -> Prose | Table:
        """Results that differ."""
        return compare.compare_table(self.comparison, "results")

    def comparison_plan(self) -> Prose | Table:
        """Lines of the plan that differ."""
        return compare.compare_table(self.comparison, "lines")

    def audit_answer(self) -> Prose:
        """The audit in words."""
        return audit.audit_answer(self.loaded, self.findings)

    def audit(self) -> Shown:
        """Every finding with what it costs here."""
        return audit.audit_figure(self.loaded, self.findings)

    def audit_details(self) -> Prose:
        """Every finding, whole."""
        return audit.audit_details(self.findings)

    def audit_gaps(self) -> Shown:
        """Checks that could not be made."""
        return audit.audit_gaps(self.findings)

    def postmortem_answer(self) -> Prose:
        """The account of the event in words."""
        return postmortem.postmortem_answer(self.loaded)

    def postmortem_impact(self) -> Shown:
        """Numbers of the impact, stated and computed."""
        return postmortem.impact_table(self.estimates)

    def postmortem_timeline(self) -> Shown:
        """The provider's entries against the team's own."""
        return _sized(postmortem_charts.timeline_figure(self.loaded))

    def postmortem_alignment(self) -> Shown:
        """The team's own events beside the provider's: which follow which, and what that account leaves open."""
        return _sized(alignment.alignment_of(self.loaded))

    def postmortem_split(self) -> Shown:
        """What reached past the restore."""
        return postmortem.split_table(self.loaded)

    def postmortem_durations(self) -> Shown:
        """Time to detect, mitigate, restore and recover."""
        return _sized(postmortem_charts.durations_figure(self.estimates))

    def postmortem_causes(self) -> Shown:
        """What began it and what sustained it, with the figures beside each class."""
        return causes.causes_table(self.estimates, self.coupling)

    def postmortem_interactions(self) -> Shown:
        """Interactions that were not controlled well enough."""
        return postmortem.interactions_table(self.loaded)

    def postmortem_actions(self) -> Shown:
        """Actions by due date."""
        return postmortem.actions_table(self.loaded, self.plan)

    def postmortem_proposals(self) -> Shown:
        """Open lines of the plan that no action carries out."""
        return postmortem.proposals_table(self.loaded, self.plan, self.entered.kept)

    def postmortem_gaps(self) -> Shown:
        """What the account leaves open."""
        return postmortem.gaps_table(self.estimates, self.plan, self.coupling)

    def provenance(self) -> Table:
        """Inputs and versions."""
        return answer.provenance(self.estimates)


def open_workbook(scenario: str, overrides: Overrides = None) -> Workbook:
    """Open a team's workbook from the path of its scenario file, with single values overridden.

    Opened again in one process, it is the same workbook with all that is computed already, unless a file that it was read
    from has changed.
    Under plain papermill, which only logs names that it does not know, this refuses them.
    Raises :class:`ParameterError` for an unknown or mistyped parameter, and what
    :func:`afterload.scenario.load_scenario` raises.
    """
    workbook = _OPENED.open(_checked(scenario), overrides)
    # One reads a second scenario, and the files that it names are not watched; the others what people enter beside the packet.
    for name in ("comparison", "entered", "runbook", "exercises"):
        vars(workbook).pop(name, None)
    return workbook


# The chapters of a packet open the same workbook one after the other.
_OPENED = LastOpened(Workbook)


def edit_workbook(scenario: str, overrides: Overrides = None) -> FormWorkbook:
    """Open a scenario file to fill it in; one that is not there yet begins empty, a shipped one is saved as a copy.

    Overrides stand in the form as changes that are not saved. Raises what :func:`open_workbook` raises, but for problems of
    the scenario, which the form shows.
    """
    # Widgets take long to import, and only this needs them.
    from afterload.forms.workbook import FormWorkbook

    return FormWorkbook(_checked(scenario), overrides)


def _checked(scenario: str) -> str:
    """The path in the parameters of a notebook, once it is sure that there is one and nothing beside it."""
    _refuse_unknown(_injected_names())
    if not isinstance(scenario, str):
        raise ParameterError(
            f"the parameter scenario is {scenario!r}, not a path; papermill turns text such as 2025_10 into a number "
            "with -p: use -r scenario PATH for text as it is"
        )
    return scenario


def _refuse_unknown(names: Iterable[str]) -> None:
    for name in names:
        if name not in PARAMETERS:
            near = get_close_matches(name, PARAMETERS, 1, 0.5)
            hint = f"; nearest: {near[0]}" if near else ""
            raise ParameterError(
                f"{name!r} is not a parameter{hint}; known: {', '.join(PARAMETERS)}. Single values of the scenario go "
                "into overrides, as in -y '{overrides: {queues.orders.arrival_rate: 1500/min}}'"
            )


def _injected_names() -> list[str]:
    """Names that papermill set: those assigned in the cell that begins with its comment "# Parameters".

    Of several such cells the last one run counts: who mends the cell by hand and runs it again is not held to what
    it was before.
    """
    if "IPython" not in sys.modules:
        return []
    shell = sys.modules["IPython"].get_ipython()
    history = getattr(getattr(shell, "history_manager", None), "input_hist_raw", [])
    cells = [str(source) for source in history if str(source).lstrip().startswith("# Parameters")]
    try:
        body = ast.parse(cells[-1]).body if cells else []
    except SyntaxError:
        return []
    targets = [target for statement in body if isinstance(statement, ast.Assign) for target in statement.targets]
    return [target.id for target in targets if isinstance(target, ast.Name)]
