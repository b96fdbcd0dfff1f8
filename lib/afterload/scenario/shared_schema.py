"""The part of a scenario that says what a team shares with others: an account, a region, and their limits."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from afterload.scenario.fields import Count, MaybeCount, MaybeLabel, Section, if_given

__all__ = ["Shared"]


class Shared(Section):
    """Where the team runs, so that teams in the same place can be computed together."""

    account: Annotated[
        MaybeLabel, Field(description="Cloud account, as number or name; teams that give the same share it.")
    ] = None
    region: Annotated[MaybeLabel, Field(description="Region in that account, such as us-east-1.")] = None
    concurrency: Annotated[
        MaybeCount,
        if_given(ge=1),
        Field(
            description="Concurrent executions that account and region allow; from exports or the published default if not "
            "given."
        ),
    ] = None
    reserved_elsewhere: Annotated[
        Count, Field(description="Concurrency reserved there for functions that are in no team's scenario.")
    ] = 0
