"""Hold the package that is first on the path to laws and tests, and print a line of JSON for each.

Runs in a process of its own.

It takes a JSON list of pairs of a law and a subject, or of a test and nothing; ``null`` stands for
the wrong protocols of the tests. The verdict is "rejected" where the law or test itself says no,
"lives" where it holds, and "accident" where something else went wrong.
"""

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

Verdict = tuple[str, str]


def by_law(law: str, subject: Any) -> Verdict:
    """Hold a subject, or the expression of one, to a law."""
    import multi_freq_ldpy
    from multi_freq_ldpy import checks

    try:
        names = {name: getattr(multi_freq_ldpy, name) for name in multi_freq_ldpy.__all__}
        checks.run_check(law, eval(subject, names) if isinstance(subject, str) else subject)
    except checks.CheckFailed as broken:
        rejected = broken.law == law and isinstance(broken.__cause__, AssertionError)
        return "rejected" if rejected else "accident", str(broken)
    except Exception as error:
        return "accident", f"{type(error).__name__}: {error}"
    return "lives", ""


class Watch:
    """A plugin of pytest that keeps the first failure."""

    def __init__(self) -> None:
        self.failure: tuple[str, BaseException] | None = None
        self.passed = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """Note how a test ended."""
        report = yield
        if report.failed and self.failure is None:
            self.failure = report.when, call.excinfo.value
        self.passed += report.when == "call" and report.passed
        return report


def by_test(test: str) -> Verdict:
    """Run a test."""
    watch = Watch()
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([test, "-x", "-p", "no:cacheprovider", "-o", "addopts="], plugins=[watch])
    if watch.failure is None:
        return ("lives", "") if watch.passed else ("accident", "nothing was tested")
    when, error = watch.failure
    rejected = when == "call" and isinstance(error, AssertionError | pytest.fail.Exception)
    return "rejected" if rejected else "accident", f"{type(error).__name__}: {error}"


def main() -> None:
    """Make the trials that were asked for."""
    import multi_freq_ldpy

    expected = Path.cwd() / "src"
    if expected not in Path(multi_freq_ldpy.__file__).parents:
        raise SystemExit(
            f"the package is that of {multi_freq_ldpy.__file__}, not the copy in {expected}"
        )
    asked = json.loads(sys.argv[1])
    if asked is None:
        from tests.faults import FAULTS

        asked = [(law, subject) for subject, law in FAULTS]
    for law, subject in asked:
        print(json.dumps(by_test(law) if "::" in law else by_law(law, subject)), flush=True)


if __name__ == "__main__":
    main()
