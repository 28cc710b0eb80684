from kumihimo.hub.hub import Hub as Hub

__version__: str
