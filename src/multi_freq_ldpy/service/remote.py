"""Requests to a service, with the standard library only."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import IO, Any
from urllib.parse import quote, urlsplit

from ..core import validate
from ..core.tally import Tally
from ..survey import Survey

LOCAL = "http://127.0.0.1:8000"
PATIENCE = 60.0
"""Seconds to wait for an answer."""

PIECE = 2**16
"""Number of bytes of an answer that are read together."""

PASSING = (408, 429)
"""Statuses below 500 after which the same request may be sent again."""

LARGEST_JSON, LARGEST_PROBLEM = 2**26, 2**20
"""Largest number of bytes of an answer and of a refusal that are read."""


FIELDS = {"digest": str, "state": str, "accepted": list, "spec": dict, "schedule": dict | None}
"""Fields of the description of a survey, and their types."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuse redirects, because a request has a token."""

    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = urllib.request.build_opener(_NoRedirects)


class Refused(ValueError):
    """Exception raised if a service refuses a request.

    Parameters
    ----------
    status : int
        Status of the answer.
    detail : str
        The sentence of the service.
    kind : str
        The word that names the problem, or "" if the answer is not of this service.
    retry_after : float
        Least number of seconds until the request may be sent again.

    Examples
    --------
    >>> from multi_freq_ldpy.service.remote import Refused
    >>> Refused(503, "Too many reports are waiting.", "too-busy", 1.0).passing
    True
    """

    def __init__(self, status: int, detail: str, kind: str = "", retry_after: float = 0.0) -> None:
        super().__init__(detail)
        self.status, self.kind, self.retry_after = status, kind, retry_after

    @property
    def passing(self) -> bool:
        """True if the same request may be answered later."""
        return self.status in PASSING or self.status >= 500


class Remote:
    """A service at an address.

    Parameters
    ----------
    url : str
        Address of the service.
    token : str, optional
        Token of the requests.

    Raises
    ------
    ValueError
        If ``url`` is not an address of HTTP.

    Examples
    --------
    >>> from multi_freq_ldpy.service.remote import Remote
    >>> Remote("http://127.0.0.1:8000/").url
    'http://127.0.0.1:8000'
    """

    def __init__(self, url: str = LOCAL, token: str | None = None) -> None:
        try:
            parts = urlsplit(url)
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # the port is no number
            known = False
        if not known or not url.isprintable() or " " in url:
            raise ValueError(f"url must be an address such as {LOCAL}, not {validate.quote(url)}")
        if token is not None and not (token.isascii() and token.isprintable() and token):
            raise ValueError("the token must be one line of printable ASCII characters")
        self.url, self._token = url.rstrip("/"), token

    def __repr__(self) -> str:
        return f"<Remote {self.url}>"  # the token stays out of logs

    def ask(
        self,
        method: str,
        path: str,
        content: Any = None,
        timeout: float = PATIENCE,
        largest: int | None = None,
    ) -> bytes:
        """Return the body of the answer to a request.

        Parameters
        ----------
        method : str
            Method of HTTP.
        path : str
            Path below the address, which starts with a slash.
        content : object, optional
            Bytes, or an object that is sent as JSON.
        timeout : float
            Seconds to wait for the service.
        largest : int, optional
            Largest number of bytes that are read. None, the default, reads all.

        Returns
        -------
        bytes
            The body of the answer.

        Raises
        ------
        Refused
            If the service refuses the request.
        OSError
            If no service answers.
        """
        with self._open(method, path, content, timeout) as answer:
            body: bytes = answer.read(largest)
            return body

    def save(self, path: str, file: IO[bytes]) -> int:
        """Write the answer to a GET request into a file, piece by piece.

        Parameters
        ----------
        path : str
            Path below the address, which starts with a slash.
        file : file
            Binary file to write to.

        Returns
        -------
        int
            The number of bytes.

        Raises
        ------
        Refused
            If the service refuses the request.
        OSError
            If no service answers, or if the answer ends too early.
        """
        size = 0
        with self._open("GET", path) as answer:
            while piece := answer.read(PIECE):
                size += file.write(piece)
            if str(size) != answer.headers.get("Content-Length", str(size)):
                raise OSError(f"the answer of {self.url} ended after {size} bytes")
        return size

    @contextmanager
    def _open(
        self, method: str, path: str, content: Any = None, timeout: float = PATIENCE
    ) -> Iterator[Any]:
        """Send a request, and yield the answer to read from."""
        binary = isinstance(content, bytes)
        data = content if content is None or binary else json.dumps(content).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        if data is not None:
            kind = "application/octet-stream" if binary else "application/json"
            request.add_header("Content-Type", kind)
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with OPENER.open(request, timeout=timeout) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            raise _read_problem(error) from None
        except urllib.error.URLError as error:
            raise OSError(f"no service answers at {self.url}: {error.reason}") from None
        except http.client.HTTPException as error:
            raise OSError(f"no service answers at {self.url}: {type(error).__name__}") from None

    def ask_json(
        self, method: str, path: str, content: Any = None, timeout: float = PATIENCE
    ) -> Any:
        """Return the JSON of the answer to a request. See ``ask``."""
        body = self.ask(method, path, content, timeout, LARGEST_JSON)
        try:
            return json.loads(body) if body else None
        except ValueError:
            raise OSError(f"no service answers at {self.url}: its answer is no JSON") from None

    def describe(self, name: str, timeout: float = PATIENCE) -> dict[str, Any]:
        """Return everything that the service says of a survey.

        Parameters
        ----------
        name : str
            Name of the survey.
        timeout : float
            Seconds to wait for the service.

        Returns
        -------
        dict
            The answer. Its digest, state, accepted rounds, spec and schedule have their types.

        Raises
        ------
        Refused
            If the service has no such survey.
        OSError
            If no service answers.
        """
        about = self.ask_json("GET", path_of(name), timeout=timeout)
        if not isinstance(about, dict) or not all(
            isinstance(about.get(field), kind) for field, kind in FIELDS.items()
        ):
            raise OSError(f"no service answers at {self.url}: its answer is no survey")
        return about

    def survey(self, name: str) -> tuple[Survey, dict[str, Any]]:
        """Return a survey of the service, and everything that the service says of it.

        Parameters
        ----------
        name : str
            Name of the survey.

        Returns
        -------
        survey : Survey
            The survey.
        about : dict
            The answer of the service.

        Raises
        ------
        ValueError
            If the service has no such survey, or if its digest does not fit its spec.
        """
        about = self.describe(name)
        survey = Survey.from_spec(about["spec"])
        if survey.digest != about["digest"]:
            raise ValueError(f"the digest of {name} does not fit its spec")
        return survey, about

    def tallies(self, name: str, survey: Survey, round: str = "latest") -> list[Tally]:
        """Return tallies of a survey, as far as an estimate needs them.

        Parameters
        ----------
        name : str
            Name of the survey.
        survey : Survey
            The survey.
        round : str
            A number, or "latest".

        Returns
        -------
        list of Tally
            The tally of the round. For a survey with rounds, those of all rounds up to it.

        Raises
        ------
        ValueError
            If there is no such round.
        """
        path = f"{path_of(name)}/rounds"
        listed = [each["number"] for each in self.ask_json("GET", path)]
        if round != "latest" and not round.isdecimal():
            raise ValueError(f"round must be a number or latest, not {validate.quote(round)}")
        last = int(round) if round.isdecimal() else max(listed, default=-1)
        if last not in listed:
            raise ValueError(f"{name} has no round {round}")
        wanted = range(last + 1) if survey.rounds is not None else [last]
        return [
            survey.unpack(self.ask("GET", f"{path}/{number}/tally"))
            if number in listed
            else survey.tally([], round=number)
            for number in wanted
        ]


def path_of(name: str) -> str:
    """Return the path of a survey."""
    return f"/v1/surveys/{quote(name, safe='')}"


def _read_problem(error: urllib.error.HTTPError) -> Refused:
    """Return the refusal in an answer."""
    retry_after = _read_delay(error.headers.get("Retry-After", ""))
    try:
        problem = json.loads(error.read(LARGEST_PROBLEM))
        kind = problem["type"].removeprefix("/problems/")
        return Refused(error.code, str(problem["detail"]), kind, retry_after)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, http.client.HTTPException):
        detail = f"the service answered with status {error.code}"
        return Refused(error.code, detail, retry_after=retry_after)


def _read_delay(text: str) -> float:
    """Return the seconds of a header Retry-After, which has a number or a date."""
    if text.isascii() and text.isdigit():
        return float(text[:10])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, OSError):
        return 0.0
