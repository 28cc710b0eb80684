"""The database: can it be reached, is it ours and whole, is its schema ours; and the log of events in it."""

from __future__ import annotations

from pathlib import Path

from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.finding import Finding
from kumihimo.services.board import Board
from kumihimo.services.diagnosis.examination import Examination
from kumihimo.services.upkeep import bring_up_to_date, fold
from kumihimo.store.schema import VERSION
from kumihimo.store.store import connect

# To read through a file of this size takes a moment; one that is much larger takes longer than a glance may.
_MOST_BYTES = 100_000_000
# So far may two clocks that are set by the network lie apart.
_SECONDS_APART = 60


def look_at_database(examination: Examination) -> Finding:
    """Without bringing it up to date, unless that is asked for."""
    settings = examination.settings
    file = None if "://" in settings.database else Path(settings.database)
    if file is not None and not file.exists() and not examination.fix:
        return examination.ok("database", "made_later", path=file)
    try:
        connection = connect(settings.database)
        try:
            found, problems = connection.schema_version(), []
            small = file is None or file.stat().st_size <= _MOST_BYTES
            if small and found:
                problems = connection.check()
            place = connection.place
        except Exception as error:
            raise connection.translate(error) from error
        finally:
            connection.close()
        if problems:
            return examination.error("database", "database_broken", database=place, problem=problems[0])
        if found < VERSION and not examination.fix:
            return examination.warning("database", "schema_old", database=place, found=found, version=VERSION)
        # One that is newer than we are is refused here.
        if bring_up_to_date(settings).applied and found:
            return examination.mended("database", "schema_raised", database=place, found=found, version=VERSION)
    except KumihimoError as error:
        return examination.refused("database", "error", error)
    if file is not None and not small:
        megabytes = file.stat().st_size // 1_000_000
        return examination.ok("database", "database_large", database=place, version=VERSION, megabytes=megabytes)
    return examination.ok("database", "database_fine", database=place, version=VERSION)


def look_at_events(examination: Examination, board: Board) -> list[Finding]:
    """The clock, as the log shows it, and what of the log is old."""
    found: list[Finding] = []
    last = board.store.read(lambda transaction: transaction.events.last_at())
    ahead = round((last - board.clock()).total_seconds()) if last is not None else 0
    if ahead > _SECONDS_APART:
        found.append(examination.warning("clock", "clock_behind", seconds=ahead))
    days = f"{examination.settings.retention.events_days:g}"
    count = fold(board, examination.settings.retention.events_days) if examination.fix else 0
    if count:
        found.append(examination.mended("events", "events_folded", count=count, days=days))
    else:
        found.append(examination.ok("events", "events_kept", days=days))
    return found
