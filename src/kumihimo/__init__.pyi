from kumihimo.domain.errors import ConfigError as ConfigError
from kumihimo.hub.errors import HubClosed as HubClosed
from kumihimo.hub.errors import HubError as HubError
from kumihimo.hub.hub import Hub as Hub

__version__: str
