"""Notices: whether the channels that were asked for can work here."""

from __future__ import annotations

import os

from kumihimo.domain.finding import Finding
from kumihimo.engine.notifying.channels import open_channels
from kumihimo.services.diagnosis.examination import Examination


def look_at_notifications(examination: Examination) -> list[Finding]:
    opened = open_channels(examination.settings.notifications, os.environ)
    found = [
        examination.warning("notifications", "channel_off", channel=name, problem=problem)
        for name, problem in opened.problems.items()
    ]
    if opened.channels:
        found.append(examination.plain("notifications", ", ".join(channel.name for channel in opened.channels)))
    return found
