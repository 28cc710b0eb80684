"""fastmcp's proxy of a server, over Streamable HTTP with JSON answers: `python fastmcp_proxy.py PORT TARGET`.

The target is a URL, or JSON as in `mcpServers`. Run by the Python that fastmcp is installed for.
"""

import json
import sys

from fastmcp.server import create_proxy  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

if __name__ == "__main__":
    target = sys.argv[2]
    proxy = create_proxy(target if target.startswith("http") else json.loads(target))  # pyright: ignore[reportUnknownVariableType]
    proxy.run(  # pyright: ignore[reportUnknownMemberType]
        transport="http",
        host="127.0.0.1",
        port=int(sys.argv[1]),
        json_response=True,
        show_banner=False,
        uvicorn_config={"access_log": False, "log_level": "error"},
    )
