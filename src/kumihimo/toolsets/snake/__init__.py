"""The snake_case dialect: what Runners, instances, managers and residents are answered.

Every answer has `success`. One file per noun with its shapes and how they are made. Records of executions and the
deprecated list of tasks have camelCase entries, because programs that read them were written for those.
"""
