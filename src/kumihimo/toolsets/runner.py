"""`runner`: for a Runner, which starts instances and never sees a task."""

from __future__ import annotations

from kumihimo.toolsets.snake import instances, projects
from kumihimo.toolsets.toolset import Tool, Toolset

# Told beside the arguments of `report_instance`, by our own Runner.
LAST_LINES = "kumihimo/lastLines"

TOOLSET = Toolset(
    "runner",
    "snake",
    "owner",
    (
        Tool("health_check", "instance.health", "Health check", instances.HealthAnswer, instances.health),
        Tool(
            "list_active_projects_with_agents", "instance.projects", "Active projects with their agents",
            projects.StaffedAnswer, projects.staffed,
        ),
        Tool("should_start", "instance.should_start", "Whether to start", instances.VerdictAnswer, instances.verdict),
        Tool("report_instance", "instance.report", "Report an instance", instances.InstanceAnswer, instances.instance,
             beside={"last_lines": LAST_LINES}),
        Tool("wait_for_work", "instance.wait", "Wait for work", instances.WorkAnswer, instances.work),
    ),
)  # fmt: skip
