"""The APIs of models, as far as agent CLIs use them: one file reads and writes one API."""

from __future__ import annotations

from tests.real.apis import anthropic, chat, gemini, responses
from tests.real.apis.api import Api

APIS: tuple[Api, ...] = (anthropic.Anthropic(), responses.Responses(), chat.Chat(), gemini.Gemini())
