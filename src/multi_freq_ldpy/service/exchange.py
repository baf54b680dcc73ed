"""The routes of invites, of tallies of other services, and of kept reports."""

import csv
import io
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Request, Response
from starlette.responses import StreamingResponse

from . import auth, invites, kept, merging, models
from .batch import ID_BYTES
from .dependencies import Admin, Database, Responses, Scope, choose_round, find_survey, problems
from .problems import Problem, as_sentence
from .submit import MEDIA as BINARY

CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
LARGEST_TALLY = 2**48
"""The largest number of users of a tally from elsewhere. Sums of counts have 64 bits."""

AS_CSV: Responses = {201: {"content": {CSV: {"schema": {"type": "string"}}}}}
AS_PARQUET: Responses = {200: {"content": {PARQUET: {"schema": {"type": "string"}}}}}
ID_AND_TALLY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "An id of 16 bytes, and what `Survey.pack` returns",
        "content": {BINARY: {"schema": {"type": "string", "format": "binary"}}},
    }
}

router = APIRouter()


@router.post(
    "/v1/surveys/{name}/invites",
    summary="Make invites",
    status_code=201,
    dependencies=[Admin],
    response_model=models.InvitesOut,
    responses=problems("not-found", "no-token", "forbidden", "no-invites", also=AS_CSV),
)
def post_invites(
    name: str, given: models.InvitesIn, store: Database, accept: Annotated[str, Header()] = ""
) -> Any:
    """Make invites. They are shown once, as JSON or as a CSV file with one column."""
    with store.write() as connection:
        served, _ = find_survey(connection, name, auth.ADMIN, lock=True)
        made = invites.create_invites(connection, served, given.count)
    if CSV not in accept:
        return {"invites": made}
    text = io.StringIO()
    csv.writer(text).writerows([["invite"], *([each] for each in made)])
    return Response(text.getvalue(), 201, media_type=CSV)


@router.post(
    "/v1/surveys/{name}/rounds/{number}/tallies",
    summary="Add the tally of another service, once",
    dependencies=[Admin],
    openapi_extra=ID_AND_TALLY,
    responses=problems(
        "not-found", "no-token", "forbidden", "malformed", "media-type", "round-closed"
    ),
)
async def post_tally(name: str, number: str, request: Request, store: Database) -> models.MergedOut:
    """Add the counts of a tally to a round. The same id again changes nothing."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != BINARY:
        raise Problem("media-type", f"The body must be {BINARY}.")
    body = await request.body()
    return await to_thread.run_sync(_merge, store, name, number, body)


def _merge(store: Any, name: str, number: str, body: bytes) -> models.MergedOut:
    with store.write() as connection:
        served, _ = find_survey(connection, name, auth.ADMIN)
        chosen = choose_round(connection, served, number)
        if len(body) <= ID_BYTES:
            raise Problem("malformed", f"The body has {len(body)} bytes, no id and no tally.")
        try:
            tally = served.survey.unpack(body[ID_BYTES:])
        except ValueError as error:
            raise Problem("invalid", as_sentence(error)) from None
        if tally.mechanism != served.at(chosen):
            raise Problem("invalid", f"The tally is of another round than {chosen}.")
        if tally.users > LARGEST_TALLY:
            raise Problem("invalid", f"A tally has at most {LARGEST_TALLY} users.")
        users = merging.merge_tally(connection, served, chosen, body[:ID_BYTES], tally)
    return models.MergedOut(counted=users)


@router.get(
    "/v1/surveys/{name}/rounds/{number}/reports.parquet",
    summary="The kept reports of a round",
    dependencies=[Admin],
    response_class=Response,
    responses=problems("not-found", "no-token", "forbidden", "not-kept", also=AS_PARQUET),
)
def get_reports(name: str, number: str, store: Database, scope: Scope) -> Response:
    """Stream the reports in the order of their ids. The ids are left out."""
    with store.read() as connection:
        served, _ = find_survey(connection, name, scope)
        chosen = choose_round(connection, served, number)
    if not served.keep:
        raise Problem("not-kept", "This survey keeps tallies only.")
    return StreamingResponse(kept.write_parquet(store, served, chosen), media_type=PARQUET)
