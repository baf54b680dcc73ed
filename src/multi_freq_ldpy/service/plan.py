"""Expected errors of a survey, before it is created."""

from typing import Any

import numpy as np
from fastapi import APIRouter

from ..studies.planning import find_peak
from ..survey import Survey
from . import models
from .dependencies import Reader, problems
from .estimates import describe_losses, plain
from .problems import Problem

router = APIRouter()


def expect_errors(survey: Survey, users: int) -> list[dict[str, Any]]:
    """Return the expected standard errors of the attributes of a survey.

    Parameters
    ----------
    survey : Survey
        The survey.
    users : int
        Number of users who report, in each round.

    Returns
    -------
    list of dict
        For each attribute, its name and its number of categories. ``std`` is the standard error of
        a share if all categories are equally frequent. ``largest`` is that of the share with the
        largest error. For a survey with rounds, both are those of the round with the largest error.

    Examples
    --------
    >>> from multi_freq_ldpy import Survey
    >>> from multi_freq_ldpy.service.plan import expect_errors
    >>> (found,) = expect_errors(Survey({"smokes": ["yes", "no"]}, epsilon=2.0), 1000)
    >>> found["categories"], round(found["std"], 4), round(found["largest"], 4)
    (2, 0.0135, 0.0135)
    """
    solution = survey.solution
    shares = [1 / k for k in solution.ks]
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = solution.variance(users, [*shares, 0.0, 0.5, 1.0])
    found = []
    for j, name in enumerate(survey.attributes):
        own = rows[j].reshape(-1, len(shares) + 3)
        peaks = [find_peak(each) for each in own[:, -3:].tolist()]
        found.append(
            {
                "name": name,
                "categories": len(survey.attributes[name]),
                "std": plain(float(own[:, j].max()) ** 0.5),
                "largest": plain(max(peaks) ** 0.5),
            }
        )
    return found


@router.post(
    "/v1/plan",
    summary="Expected errors of a survey",
    dependencies=[Reader],
    responses=problems("no-token", "forbidden"),
)
def post_plan(given: models.PlanIn) -> models.PlanOut:
    """Return what a survey would promise, and how exact it would be."""
    try:
        survey = Survey.from_spec(given.spec)
        expected = expect_errors(survey, given.users)
    except (ValueError, TypeError) as error:
        raise Problem("invalid", f"{error}.") from None
    attributes = [models.PlannedOut(**each) for each in expected]
    privacy = models.PrivacyOut(**describe_losses(survey))
    return models.PlanOut(users=given.users, privacy=privacy, attributes=attributes)
