"""Which addresses may be asked, and where a server's metadata is by its address."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from kumihimo.wire.client.authorization.errors import AuthorizationFailed, told

_PORTS = {"http": 80, "https": 443}
_RESOURCE = "/.well-known/oauth-protected-resource"
_SERVER = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"


def split(url: str) -> SplitResult:
    """The parts of an http or https URL. AuthorizationFailed where it is none, or has what could break out of a request."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PORTS and parts.hostname and (parts.port or True)
    except ValueError:
        parts, usable = None, False
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts is None or not usable or not plain or "@" in parts.netloc:
        raise AuthorizationFailed(f"'{told(url)}' is no address that can be asked")
    return parts


def origin(url: str) -> str:
    """Scheme, host and port, always written the same way."""
    parts = split(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"


def is_local(url: str) -> bool:
    """Whether it is on this machine."""
    host = split(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check(url: str, near: str) -> None:
    """AuthorizationFailed where the URL may not be asked on behalf of the server at `near`.

    All go by https; only for a server on this machine others on it may be asked, as they are: none from elsewhere may
    send us to them.
    """
    if is_local(url):
        if not is_local(near):
            raise AuthorizationFailed(f"{told(url)} is on this machine, where the server is not")
    elif split(url).scheme != "https":
        raise AuthorizationFailed(f"{told(url)} is not https")


def may(url: str, near: str) -> bool:
    try:
        check(url, near)
    except AuthorizationFailed:
        return False
    return True


def canonical(url: str) -> str:
    """The server's own address as the name of the resource."""
    parts = split(url)
    return f"{base(url)}{'' if parts.path == '/' else parts.path}"


def base(url: str) -> str:
    """The address without its path, as an issuer is written."""
    parts = split(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{'' if parts.port in (None, _PORTS[parts.scheme]) else f':{parts.port}'}"


def covers(resource: str, url: str) -> bool:
    """Whether the resource is what is at the URL, or what that is a part of."""
    if origin(resource) != origin(url):
        return False
    above = split(resource).path.rstrip("/")
    path = split(url).path.rstrip("/")
    return path == above or path.startswith(f"{above}/")


def same_issuer(one: str, other: str) -> bool:
    """Letter by letter; but with no path, a slash at the end says nothing, and many write it on one side only."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return f"{short}/" == long and long.count("/") == 3


def resource_places(url: str) -> list[str]:
    """Where the metadata of a resource is: by its path, then for the whole host."""
    path = split(url).path.rstrip("/")
    places = [f"{base(url)}{_RESOURCE}"]
    return [f"{places[0]}{path}", *places] if path else places


def server_places(issuer: str) -> list[str]:
    """Where the metadata of an authorization server is, in the order to be tried."""
    path = split(issuer).path.rstrip("/")
    host = base(issuer)
    if not path:
        return [f"{host}{_SERVER}", f"{host}{_OPENID}"]
    return [f"{host}{_SERVER}{path}", f"{host}{_OPENID}{path}", f"{host}{path}{_OPENID}"]
