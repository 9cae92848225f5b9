"""Clients of `likelier serve`."""

import asyncio
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from likelier import optional

if TYPE_CHECKING:
    import httpx

Features = Mapping[str, Any]
AGAIN = (429, 502, 503, 504)  # that may pass
LONGEST = 5.0  # seconds between two attempts


class Prediction(NamedTuple):
    """The answer to a row.

    Attributes
    ----------
    id : str, int or None
        The id of the row.
    label : label or None
        The most probable label; None before the first label was learned.
    proba : dict
        The probability of each label, by its text.
    version : int
        The version of the model: the number of events that it has seen.
    """

    id: str | int | None
    label: Any
    proba: dict[str, float]
    version: int


class Learned(NamedTuple):
    """What became of labels.

    Attributes
    ----------
    learned : int
        Labels that were learned.
    duplicates : int
        Labels that were known before.
    waiting : int
        Labels that are kept until their row, or their turn, comes.
    """

    learned: int
    duplicates: int
    waiting: int


class ServerError(RuntimeError):
    """A request that the server refused.

    Attributes
    ----------
    status : int
        The HTTP status.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{reason} (HTTP {status})")
        self.status = status


class _Base:
    """What both clients share: bodies, answers, and when to try again."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        if retries < 0:
            raise ValueError(f"retries must be >= 0; got {retries}.")
        self._arguments: dict[str, Any] = {
            "base_url": url.rstrip("/"),
            "timeout": timeout,
            "headers": {} if token is None else {"authorization": f"Bearer {token}"},
        }
        self._retries = retries
        self._library = optional.load("httpx", "clients of likelier serve need", "likelier[serve]")

    def _wait(self, attempt: int, answer: "httpx.Response | None") -> float:
        """Seconds until the next attempt: twice as long each time, and never all clients at once."""
        asked = answer.headers.get("retry-after", "") if answer is not None else ""
        least = float(asked) if asked.isdigit() else 0.05 * 2**attempt
        return min(LONGEST, least) * random.uniform(0.5, 1.0)

    def _again(self, attempt: int, answer: "httpx.Response | None", safe: bool) -> bool:
        """Whether to try again. A request that is not safe to repeat is repeated if nothing was done."""
        if attempt >= self._retries:
            return False
        if answer is None:
            return safe
        return answer.status_code == 429 or (safe and answer.status_code in AGAIN)


def _checked(answer: "httpx.Response") -> Any:
    if answer.is_success:
        return answer.json()
    try:
        reason = answer.json()["error"]
    except (ValueError, KeyError, TypeError):
        reason = answer.text[:200]
    raise ServerError(answer.status_code, reason)


def _row(x: Features, id: str | int | None) -> dict[str, Any]:
    return {"x": dict(x)} if id is None else {"x": dict(x), "id": id}


def _rows(rows: Iterable[Features], ids: Sequence[str | int] | None) -> dict[str, Any]:
    rows = list(rows)
    if ids is not None and len(ids) != len(rows):
        raise ValueError(f"ids must be one for each row: got {len(ids)} ids and {len(rows)} rows.")
    return {"rows": [_row(x, None if ids is None else ids[i]) for i, x in enumerate(rows)]}


def _label(y: Any, id: str | int | None, x: Features | None) -> dict[str, Any]:
    if id is None and x is None:
        raise ValueError("a label needs the id of a row that was predicted, or a row x")
    body: dict[str, Any] = {"y": y}
    if id is not None:
        body["id"] = id
    if x is not None:
        body["x"] = dict(x)
    return body


def _with_ids(body: dict[str, Any]) -> bool:
    """Whether each label has an id: only then is it known when it comes again."""
    return all("id" in row for row in body.get("rows", [body]))


class Client(_Base):
    """Client of `likelier serve`.

    Requests that fail on the way, or that the server is too busy for, are tried again where this is safe:
    predictions always, labels if they have ids, for the server learns each id once.

    Parameters
    ----------
    url : str, default="http://127.0.0.1:8000"
        The address of the server.
    token : str, default=None
        A token of `likelier token`, where the server asks for one.
    timeout : float, default=10.0
        Seconds to wait for an answer.
    retries : int, default=5
        How often to try again.

    See Also
    --------
    OnlineClassifier : The model that is served unless another is given.

    Examples
    --------
    >>> from likelier import Client
    >>> client = Client("http://127.0.0.1:8000")
    >>> client.close()
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        timeout: float = 10.0,
        retries: int = 5,
    ) -> None:
        super().__init__(url, token, timeout, retries)
        self._http: httpx.Client = self._library.Client(**self._arguments)

    def predict(self, x: Features, *, id: str | int | None = None) -> Prediction:
        """Predict a row.

        Parameters
        ----------
        x : dict
            The features, by name.
        id : str or int, default=None
            An id under which the row waits for its label. None: it does not.

        Returns
        -------
        Prediction
            The label, the probabilities and the version of the model.
        """
        return Prediction(**self._post("/predict", _row(x, id)))

    def predict_many(
        self, rows: Iterable[Features], *, ids: Sequence[str | int] | None = None
    ) -> list[Prediction]:
        """Predict several rows.

        Parameters
        ----------
        rows : iterable of dict
            The features of each row.
        ids : list of str or int, default=None
            An id for each row.

        Returns
        -------
        list of Prediction
            The answers, in the order of the rows.
        """
        return [Prediction(**row) for row in self._post("/predict", _rows(rows, ids))["rows"]]

    def learn(self, y: Any, *, id: str | int | None = None, x: Features | None = None) -> Learned:
        """Report the label of a row.

        Parameters
        ----------
        y : str, int, float or bool
            The label.
        id : str or int, default=None
            The id of the row that was predicted, or of the row `x`.
        x : dict, default=None
            The features, of a row that was not predicted.

        Returns
        -------
        Learned
            Whether it was learned, or known before.
        """
        body = _label(y, id, x)
        return Learned(**self._post("/learn", body, safe=_with_ids(body)))

    def learn_many(self, rows: Iterable[Mapping[str, Any]]) -> Learned:
        """Report several labels.

        Parameters
        ----------
        rows : iterable of dict
            Each has "y", and "id" or "x" or both.

        Returns
        -------
        Learned
            How many were learned, and how many were known before.
        """
        body = {"rows": [dict(row) for row in rows]}
        return Learned(**self._post("/learn", body, safe=_with_ids(body)))

    def model(self) -> dict[str, Any]:
        """What is served.

        Returns
        -------
        dict
            The version, the classes, the metrics and the settings.
        """
        return dict(self._request("GET", "/model"))

    def health(self) -> dict[str, Any]:
        """Whether requests are served.

        Returns
        -------
        dict
            The status, the version and the role of the process.
        """
        return dict(self._request("GET", "/health"))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _post(self, path: str, body: Any, *, safe: bool = True) -> Any:
        return self._request("POST", path, body, safe=safe)

    def _request(self, method: str, path: str, body: Any = None, *, safe: bool = True) -> Any:
        attempt = 0
        while True:
            answer = None
            try:
                answer = self._http.request(method, path, json=body)
            except self._library.TransportError:
                if not self._again(attempt, None, safe):
                    raise
            if answer is not None and not self._again(attempt, answer, safe):
                return _checked(answer)
            time.sleep(self._wait(attempt, answer))
            attempt += 1


class AsyncClient(_Base):
    """Client of `likelier serve` for asyncio: the methods of `Client`, to be awaited.

    Parameters
    ----------
    url : str, default="http://127.0.0.1:8000"
        The address of the server.
    token : str, default=None
        A token of `likelier token`, where the server asks for one.
    timeout : float, default=10.0
        Seconds to wait for an answer.
    retries : int, default=5
        How often to try again.

    See Also
    --------
    Client : The same without asyncio.

    Examples
    --------
    >>> import asyncio
    >>> from likelier import AsyncClient
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:8000"):
    ...         pass
    >>> asyncio.run(main())
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        timeout: float = 10.0,
        retries: int = 5,
    ) -> None:
        super().__init__(url, token, timeout, retries)
        self._http: httpx.AsyncClient = self._library.AsyncClient(**self._arguments)

    async def predict(self, x: Features, *, id: str | int | None = None) -> Prediction:
        """Predict a row.

        Parameters
        ----------
        x : dict
            The features, by name.
        id : str or int, default=None
            An id under which the row waits for its label. None: it does not.

        Returns
        -------
        Prediction
            The label, the probabilities and the version of the model.
        """
        return Prediction(**await self._request("POST", "/predict", _row(x, id)))

    async def predict_many(
        self, rows: Iterable[Features], *, ids: Sequence[str | int] | None = None
    ) -> list[Prediction]:
        """Predict several rows.

        Parameters
        ----------
        rows : iterable of dict
            The features of each row.
        ids : list of str or int, default=None
            An id for each row.

        Returns
        -------
        list of Prediction
            The answers, in the order of the rows.
        """
        found = await self._request("POST", "/predict", _rows(rows, ids))
        return [Prediction(**row) for row in found["rows"]]

    async def learn(self, y: Any, *, id: str | int | None = None, x: Features | None = None) -> Learned:
        """Report the label of a row.

        Parameters
        ----------
        y : str, int, float or bool
            The label.
        id : str or int, default=None
            The id of the row that was predicted, or of the row `x`.
        x : dict, default=None
            The features, of a row that was not predicted.

        Returns
        -------
        Learned
            Whether it was learned, or known before.
        """
        body = _label(y, id, x)
        return Learned(**await self._request("POST", "/learn", body, safe=_with_ids(body)))

    async def learn_many(self, rows: Iterable[Mapping[str, Any]]) -> Learned:
        """Report several labels.

        Parameters
        ----------
        rows : iterable of dict
            Each has "y", and "id" or "x" or both.

        Returns
        -------
        Learned
            How many were learned, and how many were known before.
        """
        body = {"rows": [dict(row) for row in rows]}
        return Learned(**await self._request("POST", "/learn", body, safe=_with_ids(body)))

    async def model(self) -> dict[str, Any]:
        """What is served.

        Returns
        -------
        dict
            The version, the classes, the metrics and the settings.
        """
        return dict(await self._request("GET", "/model"))

    async def health(self) -> dict[str, Any]:
        """Whether requests are served.

        Returns
        -------
        dict
            The status, the version and the role of the process.
        """
        return dict(await self._request("GET", "/health"))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _request(self, method: str, path: str, body: Any = None, *, safe: bool = True) -> Any:
        attempt = 0
        while True:
            answer = None
            try:
                answer = await self._http.request(method, path, json=body)
            except self._library.TransportError:
                if not self._again(attempt, None, safe):
                    raise
            if answer is not None and not self._again(attempt, answer, safe):
                return _checked(answer)
            await asyncio.sleep(self._wait(attempt, answer))
            attempt += 1
