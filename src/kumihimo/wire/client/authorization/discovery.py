"""Finding out who gives the tokens for a server, and where to ask."""

from __future__ import annotations

import msgspec

from kumihimo.wire.client.authorization import addresses
from kumihimo.wire.client.authorization.challenge import Challenge
from kumihimo.wire.client.authorization.errors import AuthorizationFailed, told
from kumihimo.wire.client.authorization.fetching import Fetcher
from kumihimo.wire.client.authorization.metadata import Found, ResourceMetadata, ServerMetadata, assumed, read


async def find_resource(fetcher: Fetcher, url: str, challenge: Challenge) -> Found:
    """What the server at the URL is as a resource. A place that it has named must be good; others may be empty."""
    if challenge.resource_metadata is not None:
        metadata = await _resource_at(fetcher, challenge.resource_metadata)
        if metadata is None:
            raise AuthorizationFailed(f"there is no metadata at {told(challenge.resource_metadata)}")
        return _found(metadata, url)
    for place in addresses.resource_places(url):
        try:
            metadata = await _resource_at(fetcher, place)
        except AuthorizationFailed:
            # Many answer anything with a page of theirs.
            continue
        if metadata is not None:
            return _found(metadata, url)
    return Found(resource=addresses.canonical(url), issuers=(addresses.base(url),), own=True)


async def find_server(fetcher: Fetcher, found: Found, wanted: str | None = None) -> ServerMetadata:
    """The authorization server: the one that is wanted where the resource trusts several, else its first."""
    issuer = next((one for one in found.issuers if wanted and addresses.same_issuer(one, wanted)), found.issuers[0])
    for place in addresses.server_places(issuer):
        try:
            fetched = await fetcher.get(place)
            metadata = read(fetched.body, ServerMetadata) if fetched.status == 200 else None
        except AuthorizationFailed:
            continue
        if metadata is not None:
            return _checked(metadata, issuer, found, fetcher.near)
    if found.own:
        return assumed(issuer)
    raise AuthorizationFailed(f"the authorization server {told(issuer)} says nothing usable of itself")


async def _resource_at(fetcher: Fetcher, place: str) -> ResourceMetadata | None:
    fetched = await fetcher.get(place)
    return read(fetched.body, ResourceMetadata) if fetched.status == 200 else None


def _found(metadata: ResourceMetadata, url: str) -> Found:
    """Whoever names another resource wants a token that is not for the server that we talk to."""
    if not addresses.covers(metadata.resource, url):
        raise AuthorizationFailed(f"the metadata is that of another resource, {told(metadata.resource)}")
    own = not metadata.authorization_servers
    issuers = metadata.authorization_servers or (addresses.base(url),)
    return Found(resource=metadata.resource, issuers=issuers, scopes=metadata.scopes_supported, own=own)


def _checked(metadata: ServerMetadata, issuer: str, found: Found, near: str) -> ServerMetadata:
    """Who claims to be another is not asked. A server that gives its tokens itself may be called by any address on it."""
    same = addresses.same_issuer(metadata.issuer, issuer)
    if not same and not (found.own and addresses.origin(metadata.issuer) == addresses.origin(issuer)):
        raise AuthorizationFailed(f"{told(issuer)} says that it is another issuer, {told(metadata.issuer)}")
    for endpoint in (metadata.token_endpoint, metadata.authorization_endpoint, metadata.registration_endpoint):
        if endpoint is not None:
            addresses.check(endpoint, near)
    # That there was a document is known by us, whatever it says.
    return msgspec.structs.replace(metadata, assumed=False)
