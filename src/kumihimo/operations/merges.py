"""Merges: work goes from its branch to where it belongs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.domain.errors import ExecutionNotFound, GitError, NothingToMerge, TaskNotFound
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.services.merge_result import MergeResult
from kumihimo.services.merging import Merger


class MergeWork(Arguments, frozen=True):
    work: Annotated[
        list[str | int], Meta(description="What to merge, in this order: numbers of tasks, or exec_ ids of runs.")
    ]
    skip_dod: Annotated[bool, Meta(description="Merge without running the checks; that is on record.")] = False


@operation(
    "merge.run", MergeWork, list[MergeResult], TaskNotFound, ExecutionNotFound, NothingToMerge, GitError, slow=True
)
def run(call: Call, arguments: MergeWork) -> list[MergeResult]:
    """Rebase work on its target, run its checks, and fast-forward the target. What can't be merged does not hold the rest."""
    merger = Merger(call.board, call.settings)
    return merger.merge_all(call.place, arguments.work, skip_checks=arguments.skip_dod)


OPERATIONS = (run,)
