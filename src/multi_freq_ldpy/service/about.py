"""Texts of a survey for its respondents: title, asker, purpose, and the questions in words."""

import json
from dataclasses import asdict, dataclass, field

from ..survey import Survey


@dataclass(frozen=True)
class About:
    """Texts that a respondent reads. They never change, because people rely on them.

    They are not part of the spec, so its digest does not depend on them.

    Parameters
    ----------
    title : str
        Title of the survey.
    asker : str
        The person or organisation who asks.
    purpose : str
        Use of the estimates.
    questions : dict
        Question by attribute. An attribute without one is shown by its name.
    """

    title: str = ""
    asker: str = ""
    purpose: str = ""
    questions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> "About":
        """Return the texts that the database keeps."""
        return cls(**json.loads(text))

    def write(self, survey: Survey) -> str:
        """Return the text for the database.

        Parameters
        ----------
        survey : Survey
            The survey that the texts are of.

        Returns
        -------
        str
            The same text for the same texts.

        Raises
        ------
        ValueError
            If a question is of an attribute that the survey does not have.
        """
        for name in self.questions:
            if name not in survey.attributes:
                known = ", ".join(survey.attributes)
                raise ValueError(f"questions has {name!r}, and the attributes are {known}")
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)
