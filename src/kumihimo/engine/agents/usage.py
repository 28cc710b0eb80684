"""What a run has used, beside what its conversation has: some CLIs tell the one, some the other."""

from __future__ import annotations

from kumihimo.engine.agents.happenings import Usage, Used


def added(before: Usage, run: Usage) -> Used:
    """Where the CLI tells what this run has used."""
    return Used(
        run,
        Usage(
            before.input_tokens + run.input_tokens,
            before.output_tokens + run.output_tokens,
            total(before.cost_usd, run.cost_usd),
        ),
    )


def since(before: Usage, whole: Usage) -> Used:
    """Where the CLI tells what the whole conversation has used, also when it was resumed: this run is what is new. Less than
    before means that it has counted from this run on after all."""
    if whole.input_tokens < before.input_tokens or whole.output_tokens < before.output_tokens:
        return added(before, whole)
    cost = None if whole.cost_usd is None else rest(before.cost_usd, whole.cost_usd)
    run = Usage(whole.input_tokens - before.input_tokens, whole.output_tokens - before.output_tokens, cost)
    return added(before, run)


def total(first: float | None, second: float | None) -> float | None:
    return None if first is None and second is None else (first or 0.0) + (second or 0.0)


def rest(before: float | None, whole: float) -> float:
    """What was paid since, with the same care."""
    return whole - (before or 0.0) if whole >= (before or 0.0) else whole
