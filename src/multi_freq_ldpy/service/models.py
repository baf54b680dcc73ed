"""The JSON of requests and answers, from which the OpenAPI description is made."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .invites import MOST_CREATED

Label = str | int | float | bool
State = Literal["draft", "open", "closed"]
Name = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]
Submission = Literal["open", "token", "invite"]
Reports = Annotated[int, Field(ge=1, le=2**31)]
Largest = Annotated[int, Field(ge=0, le=2**32 - 1)]


class Strict(BaseModel):
    """Base of requests: unknown fields are refused, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ScheduleIn(Strict):
    """Times of the rounds, in seconds."""

    starts: int
    period: int
    grace: int | None = None


Line = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Lines = Annotated[str, Field(max_length=2_000, pattern=r"^[^\x00]*$")]


class AboutIn(Strict):
    """Texts for respondents, which never change."""

    title: Line = ""
    asker: Annotated[Line, Field(description="Person or organisation that asks")] = ""
    purpose: Annotated[Lines, Field(description="Use of the estimates")] = ""
    questions: Annotated[
        dict[str, Line], Field(max_length=1_024, description="Question by attribute")
    ] = {}


class SurveyIn(Strict):
    """A new survey."""

    name: Name
    spec: dict[str, Any]
    about: AboutIn | None = None
    schedule: ScheduleIn | None = None
    keep: Annotated[bool, Field(description="Keep reports, not only their tally")] = False
    submission: Annotated[Submission, Field(description="Rule of submissions")] = "open"
    public: Annotated[bool, Field(description="Show releases to people without a token")] = False
    min_users: Annotated[Reports, Field(description="Least reports of a release")] = 100
    step: Annotated[Reports, Field(description="Least reports between two releases")] = 20


class SurveyChange(Strict):
    """A change of a survey. Fields that are left out stay as they are."""

    state: State | None = None
    public: bool | None = None
    min_users: Reports | None = None
    step: Reports | None = None

    @model_validator(mode="after")
    def _require_a_change(self) -> "SurveyChange":
        if all(value is None for value in vars(self).values()):
            raise ValueError("no field is to be changed")
        return self


class RoundIn(Strict):
    """The round to open."""

    number: Largest


class TokenIn(Strict):
    """A new token. A token to submit is for one survey."""

    scope: Literal["admin", "analyst", "submit"]
    survey: Name | None = None
    note: Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")] = ""

    @model_validator(mode="after")
    def _require_a_survey(self) -> "TokenIn":
        if (self.scope == "submit") != (self.survey is not None):
            raise ValueError("survey is given for the scope submit, and for no other scope")
        return self


class TokenOut(BaseModel):
    """A new token, which is shown once, and its hash."""

    token: str
    hash: str


class TokenBrief(BaseModel):
    """A token in the list. The token itself is not kept."""

    hash: str
    scope: Literal["admin", "analyst", "submit"]
    survey: str | None
    note: str
    revoked: bool


class ScopeOut(BaseModel):
    """The scope of the token of a request, or null without one."""

    scope: Literal["admin", "analyst", "submit"] | None


class InvitesIn(Strict):
    """The number of new invites."""

    count: Annotated[int, Field(ge=1, le=MOST_CREATED)]


class InvitesOut(BaseModel):
    """New invites, which are shown once."""

    invites: list[str]


class MergedOut(BaseModel):
    """The number of users that a tally added. It is 0 if its id was there before."""

    counted: int


class ScheduleOut(BaseModel):
    """Times of the rounds, in seconds."""

    starts: int
    period: int
    grace: int


class PrivacyOut(BaseModel):
    """The promise: losses in natural logarithms, or null where they have no bound."""

    report: float | None
    report_attribute: float | None
    lifetime: float | None
    lifetime_attribute: float | None
    history: float | None
    sentence: str


class PlanIn(Strict):
    """A survey that may be created, and the number of users who would report."""

    spec: dict[str, Any]
    users: Annotated[int, Field(ge=1, le=2**53)]


class PlannedOut(BaseModel):
    """Expected standard errors of an attribute: with equal shares, and of the worst share."""

    name: str
    categories: int
    std: float | None
    largest: float | None


class PlanOut(BaseModel):
    """The promise and the expected errors of a survey."""

    users: int
    privacy: PrivacyOut
    attributes: list[PlannedOut]


class AboutOut(BaseModel):
    """Texts for respondents. They are empty where none were given."""

    title: str
    asker: str
    purpose: str
    questions: dict[str, str]


class SurveyBrief(BaseModel):
    """A survey in the list."""

    name: str
    digest: str
    state: State


class SurveyOut(SurveyBrief):
    """A survey."""

    spec: dict[str, Any]
    about: AboutOut
    submission: Submission
    kept: bool
    public: bool
    min_users: int
    step: int
    schedule: ScheduleOut | None
    accepted: list[int]
    report_bytes: int
    privacy: PrivacyOut


class RoundOut(BaseModel):
    """A round."""

    number: int
    state: Literal["open", "closed"]
    users: int


class ValueOut(BaseModel):
    """The estimate of one label. Figures are null without reports, or after post-processing."""

    label: Label
    frequency: float | None
    std: float | None
    low: float | None
    high: float | None


class AttributeOut(BaseModel):
    """The estimates of one attribute."""

    name: str
    values: list[ValueOut]


class ShiftOut(BaseModel):
    """The largest shift of one frequency by a number of malicious users, by attribute."""

    users: int
    shift: dict[str, float]


class InfluenceOut(ShiftOut):
    """The shift by one per cent of the users, and by shares from small to large."""

    stops: list[ShiftOut]


class EstimateOut(BaseModel):
    """The estimates of one round."""

    round: int
    users: int
    attributes: list[AttributeOut]
    needed: int | None
    influence: InfluenceOut | None


class EstimatesOut(BaseModel):
    """The estimates of some rounds, with what they are of."""

    survey: str
    digest: str
    state: State
    released: Annotated[bool, Field(description="A release for the public, or the live tally")]
    level: float
    method: str
    version: int
    privacy: PrivacyOut
    rounds: list[EstimateOut]


class CountedOut(BaseModel):
    """The result of a submission."""

    counted: int
    duplicates: int


class ProblemOut(BaseModel):
    """A problem, as RFC 9457 describes it."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    accepted: Annotated[list[int], Field(description="Rounds that take reports now")] = []
    indices: Annotated[list[int], Field(description="Records that are no reports")] = []
    digest: Annotated[str, Field(description="Digest of the survey of this name")] = ""


class HealthOut(BaseModel):
    """The state of the service."""

    status: Literal["ok"]
