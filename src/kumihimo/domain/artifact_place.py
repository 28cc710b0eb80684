"""Where files of runs are kept for all who share a board, as the settings have it."""

from __future__ import annotations

from msgspec import Struct


class ArtifactPlace(Struct, frozen=True, forbid_unknown_fields=True):
    """`[artifacts]` of the user's own file: a folder that all hosts have, or `bucket`, as `s3://name/prefix`, of a storage
    that speaks S3. Keys are `"${NAME}"` of the environment. With neither, files stay where they were written."""

    folder: str | None = None
    bucket: str | None = None
    endpoint: str | None = None
    region: str = "us-east-1"
    access_key: str = "${AWS_ACCESS_KEY_ID}"
    secret_key: str = "${AWS_SECRET_ACCESS_KEY}"  # noqa: S105 - the name of it
    session_token: str | None = None

    @property
    def given(self) -> bool:
        return self.folder is not None or self.bucket is not None
