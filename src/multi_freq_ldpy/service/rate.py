"""The limit of requests per address. Only keyed hashes of addresses are kept, for a minute."""

import hashlib
import ipaddress
import secrets
import time
from math import inf

from .limits import Scope

KEPT = 30.0
"""Seconds after which a generation of addresses is the former one. Then the one before goes."""

MOST_ADDRESSES = 50_000
"""The largest number of addresses in a generation."""

PREFIX = 64
"""The bits of an IPv6 address that belong to one network."""


class Rate:
    """The requests of each address in the last second.

    Every address has a bucket that fills evenly, and a request takes one unit. Only the time at
    which the bucket is full again is kept.

    Parameters
    ----------
    most : int
        Largest number of requests per second and address. 0 sets no limit.
    proxies : int
        Number of proxies in front of the service. 0 ignores the headers of proxies.

    Examples
    --------
    >>> from multi_freq_ldpy.service.rate import Rate
    >>> rate = Rate(2)
    >>> [rate.allow("192.0.2.1", now) for now in (0.0, 0.0, 0.0, 0.5)]
    [True, True, False, True]
    """

    def __init__(self, most: int, proxies: int = 0) -> None:
        self.most, self.proxies = most, proxies
        self._key = secrets.token_bytes(16)
        self._full: dict[bytes, float] = {}
        self._former: dict[bytes, float] = {}
        self._since = -inf

    def __len__(self) -> int:
        """Return the number of addresses that are kept."""
        return len(self._full) + len(self._former)

    def admits(self, scope: Scope) -> bool:
        """Return True if a request may be answered.

        Parameters
        ----------
        scope : dict
            The ASGI scope.

        Returns
        -------
        bool
            False if its address has sent too many requests.
        """
        return not self.most or self.allow(find_address(scope, self.proxies), time.monotonic())

    def allow(self, address: str, now: float) -> bool:
        """Take one request of an address. Returns False if it has sent too many.

        Parameters
        ----------
        address : str
            The address.
        now : float
            The time, in seconds.

        Returns
        -------
        bool
            True if the request may be answered.
        """
        self.forget(now)
        name = hashlib.blake2b(name_network(address).encode(), digest_size=8, key=self._key)
        key = name.digest()
        before = self._full.get(key) or self._former.get(key, now)
        full = max(before, now) + 1 / self.most
        if full > now + 1 + 1e-9:
            return False
        self._full[key] = full
        return True

    def forget(self, now: float) -> None:
        """Forget the addresses of the former generation, if the present one is old or full."""
        if now - self._since > KEPT or len(self._full) >= MOST_ADDRESSES:
            self._former, self._full, self._since = self._full, {}, now


def find_address(scope: Scope, proxies: int) -> str:
    """Return the address that sent a request.

    Parameters
    ----------
    scope : dict
        The ASGI scope.
    proxies : int
        Number of proxies. Each appends the address of its client to ``X-Forwarded-For``.

    Returns
    -------
    str
        The entry at this place from the right, or the address of the connection if the header is
        shorter.
    """
    peer: str = (scope.get("client") or ("",))[0]
    if not proxies:
        return peer
    lines = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    entries = b",".join(lines).decode("latin-1").split(",")
    return entries[-proxies].strip() if len(entries) >= proxies and lines else peer


def name_network(address: str) -> str:
    """Return the text under which an address is counted: IPv4 itself, and the network of IPv6.

    Parameters
    ----------
    address : str
        The address. Some proxies append a port.

    Returns
    -------
    str
        The name. All texts that are no address have the same name.

    Examples
    --------
    >>> from multi_freq_ldpy.service.rate import name_network
    >>> name_network("2001:db8::1"), name_network("192.0.2.1:80"), name_network("::ffff:192.0.2.1")
    ('2001:db8::', '192.0.2.1', '192.0.2.1')
    """
    host = address
    if address.startswith("["):
        host = address[1:].partition("]")[0]
    elif address.count(":") == 1:
        host = address.partition(":")[0]
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(found) >> PREFIX << PREFIX))
