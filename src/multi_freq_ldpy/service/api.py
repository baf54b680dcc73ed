"""The routes of administration and estimates."""

import json
import time
from typing import Annotated, Any, Literal

from anyio import move_on_after, to_thread
from fastapi import APIRouter, FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.engine import Connection
from starlette.exceptions import HTTPException

from .. import __version__
from ..survey import Survey
from . import (
    auth,
    estimates,
    events,
    exchange,
    groups,
    metrics,
    models,
    plan,
    reading,
    rounds,
    surveys,
)
from .about import About
from .dependencies import (
    BYTES,
    UNCHANGED,
    Admin,
    Database,
    Reader,
    Responses,
    Scope,
    choose_round,
    find_survey,
    problems,
    require_reader,
)
from .problems import MEDIA, Problem, as_sentence
from .schema import OPEN
from .store import Store, Unavailable
from .submit import MEDIA as BINARY
from .surveys import Audience, Conflict, Schedule, Served
from .writer import MOST_QUEUED

PATIENCE = 5.0
"""Seconds in which the database must answer, or the service is not ready."""


def build_api(store: Store) -> FastAPI:
    """Return the application with all routes but that of submissions.

    Parameters
    ----------
    store : Store
        The database.

    Returns
    -------
    FastAPI
        The application.
    """
    api = FastAPI(
        title="multi-freq-ldpy",
        version=__version__,
        description="Collection of reports under local differential privacy.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    api.state.store = store
    for kind in (Problem, Unavailable, Conflict, RequestValidationError, HTTPException, Exception):
        api.add_exception_handler(kind, _answer_problem)
    for each in (router, exchange.router, events.router, metrics.router, plan.router):
        api.include_router(each)
    made = api.openapi

    def describe() -> dict[str, Any]:
        if api.openapi_schema is None:
            schema = made()
            schema["paths"]["/v1/surveys/{name}/reports"] = SUBMISSION
            schema["components"]["schemas"] |= {
                each.__name__: each.model_json_schema()
                for each in (models.CountedOut, models.ProblemOut)
            }
        return api.openapi_schema or {}

    api.openapi = describe  # type: ignore[method-assign]
    return api


async def _answer_problem(request: Request, error: Exception) -> Response:
    problem = as_problem(error)
    request.app.state.metrics.note_problem(problem.kind)
    return Response(problem.body, problem.status, problem.headers, MEDIA)


def as_problem(error: Exception) -> Problem:
    """Return an error as a problem."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Unavailable):
        return Problem("unavailable", "The database does not answer. Send the request again.")
    if isinstance(error, Conflict):
        return Problem(error.kind, as_sentence(error))
    if isinstance(error, RequestValidationError):
        fields = [
            f"{'.'.join(map(str, each['loc'][1:])) or each['loc'][0]}:"
            f" {each['msg'].removeprefix('Value error, ')}"
            for each in error.errors()
        ]
        return Problem("invalid", "; ".join(fields)[:1000])
    if isinstance(error, HTTPException) and error.status_code == 404:
        return Problem("not-found", "There is no such address.")
    if isinstance(error, HTTPException) and error.status_code == 405:
        allow = (error.headers or {}).get("Allow", "")
        return Problem("method", f"This address has other methods: {allow}.", allow=allow)
    if isinstance(error, HTTPException):
        return Problem("invalid", str(error.detail))
    return Problem("fault", f"The service has a fault: {type(error).__name__}.")


def _describe(connection: Connection, served: Served, state: str) -> dict[str, Any]:
    schedule, now = served.schedule, time.time()
    accepted = rounds.find_accepted(connection, served, now) if state == OPEN else []
    return {
        "name": served.name,
        "digest": served.digest,
        "state": state,
        "spec": json.loads(served.spec),
        "about": vars(About.read(served.about)),
        "submission": served.submission,
        "kept": served.keep,
        **vars(surveys.read_audience(connection, served)),
        "schedule": None if schedule is None else vars(schedule),
        "accepted": accepted,
        "report_bytes": served.report_bytes,
        "privacy": estimates.describe_privacy(served),
    }


SAME_SURVEY: Responses = {200: {"model": models.SurveyOut, "description": "The same survey exists"}}
SAME_ROUND: Responses = {200: {"model": models.RoundOut, "description": "It was open before"}}

router = APIRouter()


@router.get("/healthz", summary="Whether the process answers")
def get_health() -> models.HealthOut:
    """Answer."""
    return models.HealthOut(status="ok")


@router.get("/readyz", summary="Whether reports can be counted", responses=problems("too-busy"))
async def get_readiness(request: Request, store: Database) -> models.HealthOut:
    """Answer if the database does, if there is space, if reports are counted, and if few wait."""
    ready, writer = False, request.app.state.writer()
    with move_on_after(PATIENCE):
        ready = await to_thread.run_sync(store.is_ready, abandon_on_cancel=True)
    if not ready or writer.is_failing():
        raise Unavailable
    if writer.queued >= MOST_QUEUED // 2:
        raise Problem("too-busy", "Too many reports are waiting.")
    return models.HealthOut(status="ok")


@router.get(
    "/v1/surveys",
    summary="All surveys",
    dependencies=[Reader],
    responses=problems("no-token", "forbidden"),
)
def get_surveys(store: Database) -> list[models.SurveyBrief]:
    """Return all surveys."""
    with store.read() as connection:
        return [
            models.SurveyBrief(name=name, digest=digest, state=state)  # type: ignore[arg-type]
            for name, digest, state in surveys.list_all(connection)
        ]


@router.post(
    "/v1/surveys",
    summary="Create a survey",
    status_code=201,
    dependencies=[Admin],
    responses=problems(
        "no-token",
        "forbidden",
        "name-taken",
        also=SAME_SURVEY,
    ),
)
def post_survey(given: models.SurveyIn, response: Response, store: Database) -> models.SurveyOut:
    """Create a survey as a draft."""
    try:
        survey = Survey.from_spec(given.spec)
        times = given.schedule
        schedule = None if times is None else Schedule.check(**times.model_dump())
        audience = Audience(given.public, given.min_users, given.step)
        rules: Any = {"keep": given.keep, "submission": given.submission, "audience": audience}
        rules["about"] = None if given.about is None else About(**given.about.model_dump())
        with store.write() as connection:
            served, created = surveys.create(connection, given.name, survey, schedule, **rules)
            _, state = find_survey(connection, given.name, auth.ADMIN)
            found = _describe(connection, served, state)
    except (ValueError, TypeError) as error:
        raise Problem("invalid", f"{error}.") from None
    response.status_code = 201 if created else 200
    return models.SurveyOut(**found)


@router.get(
    "/v1/surveys/{name}",
    summary="A survey",
    response_model=models.SurveyOut,
    responses=problems("not-found", "no-token", also=UNCHANGED),
)
def get_survey(
    name: str,
    response: Response,
    store: Database,
    scope: Scope,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Any:
    """Return what a device needs to know."""
    with store.read() as connection:
        served, state = find_survey(connection, name, scope)
        found = _describe(connection, served, state)
    audience = [str(found[field]) for field in ("public", "min_users", "step")]
    changing = "-".join([state, *audience, *map(str, found["accepted"])])
    tag = f'"{served.digest}-{served.pk}-{changing}"'
    if if_none_match == tag:
        return Response(status_code=304, headers={"ETag": tag})
    response.headers["ETag"] = tag
    return found


@router.patch(
    "/v1/surveys/{name}",
    summary="Open or close a survey, or change what the public sees",
    dependencies=[Admin],
    responses=problems("not-found", "no-token", "forbidden", "state"),
)
def patch_survey(name: str, given: models.SurveyChange, store: Database) -> models.SurveyOut:
    """Change the state of a survey, or what people without a token see. Closed is final."""
    changes = given.model_dump(exclude_none=True)
    with store.write() as connection:
        found = find_survey(connection, name, auth.ADMIN, lock=True)
        if "state" in changes:
            found = rounds.change_state(connection, name, changes.pop("state")) or found
        if changes:
            surveys.change_audience(connection, found[0], changes)
        return models.SurveyOut(**_describe(connection, *found))


@router.delete(
    "/v1/surveys/{name}",
    summary="Delete a survey",
    status_code=204,
    dependencies=[Admin],
    responses=problems("not-found", "no-token", "forbidden", "state", "confirm"),
)
def delete_survey(name: str, store: Database, confirm: str | None = None) -> None:
    """Delete a draft, or a closed survey whose name is confirmed."""
    with store.write() as connection:
        find_survey(connection, name, auth.ADMIN)
        surveys.delete(connection, name, confirm)


@router.get(
    "/v1/surveys/{name}/rounds",
    summary="The rounds of a survey",
    responses=problems("not-found", "no-token", "forbidden"),
)
def get_rounds(name: str, store: Database, scope: Scope) -> list[models.RoundOut]:
    """Return numbers, states and users of all rounds. Without a token, of their releases."""
    return [models.RoundOut(**each._asdict()) for each in reading.list_seen(store, name, scope)]


@router.post(
    "/v1/surveys/{name}/rounds",
    summary="Close the present round and open the next one",
    status_code=201,
    dependencies=[Admin],
    responses=problems(
        "not-found",
        "no-token",
        "forbidden",
        "not-open",
        "scheduled",
        "not-next",
        "no-round",
        also=SAME_ROUND,
    ),
)
def post_round(
    name: str, given: models.RoundIn, response: Response, store: Database
) -> models.RoundOut:
    """Open a round. Its number makes a repeated request harmless."""
    with store.write() as connection:
        found = find_survey(connection, name, auth.ADMIN, lock=True)
        created = rounds.open_next(connection, *found, given.number)
        listed = rounds.list_rounds(connection, found[0])
    response.status_code = 201 if created else 200
    return models.RoundOut(**listed[-1]._asdict())


@router.get(
    "/v1/surveys/{name}/rounds/{number}/estimate",
    summary="Estimates with their errors",
    response_model=models.EstimatesOut,
    responses=problems(
        "not-found",
        "no-token",
        "forbidden",
        "not-kept",
        "too-few",
        also=UNCHANGED,
    ),
)
def get_estimate(
    name: str,
    number: str,
    response: Response,
    store: Database,
    scope: Scope,
    level: Annotated[float, Query(ge=0.01, le=0.9999)] = 0.95,
    method: Literal["raw", "norm_sub", "norm", "em"] = "raw",
    if_none_match: Annotated[str | None, Header()] = None,
) -> Any:
    """Return the estimates of a round, of the latest one, or of all rounds.

    Without a token, they are those of releases.
    """
    if method == "em":
        require_reader(scope)
    view = reading.look(store, name, scope, number, kept=method == "em")
    tag = f'"{view.mark}-{level}-{method}"'
    if if_none_match == tag:
        return Response(status_code=304, headers={"ETag": tag})
    response.headers["ETag"] = tag
    return reading.describe(view, reading.estimate(view), level, method)


@router.get(
    "/v1/surveys/{name}/rounds/{number}/tally",
    summary="The tally of a round",
    dependencies=[Reader],
    response_class=Response,
    responses=problems(
        "not-found",
        "no-token",
        "forbidden",
        also=BYTES,
    ),
)
def get_tally(name: str, number: str, store: Database, scope: Scope) -> Response:
    """Return what `Survey.unpack` reads."""
    with store.read() as connection:
        served, _ = find_survey(connection, name, scope)
        chosen = choose_round(connection, served, number)
        counted = groups.read_tally(connection, served, chosen)
    assert counted is not None
    return Response(served.survey.pack(counted[0]), media_type=BINARY)


@router.get(
    "/v1/scope", summary="The scope of the token that is sent", responses=problems("no-token")
)
def get_scope(scope: Scope) -> models.ScopeOut:
    """Return what the token of the request may do."""
    return models.ScopeOut(scope=scope)  # type: ignore[arg-type]


@router.get(
    "/v1/tokens",
    summary="All tokens, by their hashes",
    dependencies=[Admin],
    responses=problems("no-token", "forbidden"),
)
def get_tokens(store: Database) -> list[models.TokenBrief]:
    """Return all tokens, also revoked ones. The tokens themselves are not kept."""
    with store.read() as connection:
        return [models.TokenBrief(**each) for each in auth.list_tokens(connection)]


@router.post(
    "/v1/tokens",
    summary="Make a token",
    status_code=201,
    dependencies=[Admin],
    responses=problems("not-found", "no-token", "forbidden"),
)
def post_token(given: models.TokenIn, store: Database) -> models.TokenOut:
    """Make a token. It is shown once."""
    with store.write() as connection:
        survey = None
        if given.survey is not None:
            survey = find_survey(connection, given.survey, auth.ADMIN, lock=True)[0].pk
        token = auth.create_token(connection, given.scope, given.note, survey)
    return models.TokenOut(token=token, hash=auth.hash_token(token))


@router.delete(
    "/v1/tokens/{name}",
    summary="Revoke a token",
    status_code=204,
    dependencies=[Admin],
    responses=problems("not-found", "no-token", "forbidden"),
)
def delete_token(name: str, store: Database) -> None:
    """Revoke the token with this hash."""
    with store.write() as connection:
        if not name.isalnum() or not auth.revoke(connection, name):
            raise Problem("not-found", "There is no token with this hash.")


SUBMISSION: dict[str, Any] = {
    "post": {
        "summary": "Send reports",
        "security": [{}, {"HTTPBearer": []}],
        "description": "A header of 25 bytes, and records of an id of 16 bytes and a report. The"
        " same body may be sent any number of times: each id counts once.",
        "parameters": [
            {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
        ],
        "requestBody": {
            "required": True,
            "content": {BINARY: {"schema": {"type": "string", "format": "binary"}}},
        },
        "responses": {
            "200": {
                "description": "The reports are counted, durably",
                "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/CountedOut"}}
                },
            },
        }
        | {
            str(status): each
            for status, each in problems(
                "malformed",
                "no-token",
                "forbidden",
                "not-found",
                "method",
                "wrong-survey",
                "not-open",
                "round-closed",
                "too-large",
                "media-type",
                "not-a-report",
                "too-busy",
            ).items()
        },
    }
}
"""The description of the path that FastAPI does not serve."""
