"""Run checks and tests on the package that is first on the path, in a process of its own.

The argument is a JSON list of pairs. A pair is a check and a mechanism, or a test (a file, or a
function in it) and an empty string. The argument ``null`` stands for the wrong protocols of the
tests. Each verdict is printed as one line of JSON. The verdicts are:

- "rejected": the check or test failed by its own assertion;
- "lives": the check or test passed;
- "accident": another error occurred.
"""

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

Verdict = tuple[str, str]


def run_check(check: str, mechanism: Any) -> Verdict:
    """Run a check on a mechanism, which may be given as a Python expression."""
    import multi_freq_ldpy
    from multi_freq_ldpy import checks

    try:
        if isinstance(mechanism, str):
            names = {name: getattr(multi_freq_ldpy, name) for name in multi_freq_ldpy.__all__}
            mechanism = eval(mechanism, names)
        checks.run_check(check, mechanism)
    except checks.CheckFailed as failed:
        rejected = failed.check == check and isinstance(failed.__cause__, AssertionError)
        return "rejected" if rejected else "accident", str(failed)
    except Exception as error:
        return "accident", f"{type(error).__name__}: {error}"
    return "lives", ""


class Watch:
    """A plugin of pytest that keeps the first failure and its phase (setup, call or teardown)."""

    failure: tuple[str, BaseException] | None = None

    def pytest_exception_interact(self, call: Any, report: Any) -> None:
        """Keep the first failure."""
        self.failure = self.failure or (report.when, call.excinfo.value)


def run_test(test: str) -> Verdict:
    """Run one test, or the tests of a file until one fails."""
    watch = Watch()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        options = ["-x", "-p", "no:cacheprovider", "-o", "addopts="]
        code = pytest.main([test, *options], plugins=[watch])
    if watch.failure is None:
        return ("lives", "") if code == 0 else ("accident", said.getvalue()[-2000:])
    when, error = watch.failure
    rejected = when == "call" and isinstance(error, AssertionError | pytest.fail.Exception)
    return "rejected" if rejected else "accident", f"{type(error).__name__}: {error}"


def main() -> None:
    """Run the checks and tests of the argument, and print their verdicts."""
    import multi_freq_ldpy

    expected = Path.cwd() / "src"
    if expected not in Path(multi_freq_ldpy.__file__).parents:
        raise SystemExit(
            f"the package was imported from {multi_freq_ldpy.__file__}, not from {expected}"
        )
    asked = json.loads(sys.argv[1])
    if asked is None:
        from tests.faults import FAULTS

        asked = [(check, mechanism) for mechanism, check in FAULTS]
    for name, mechanism in asked:
        verdict = run_test(name) if name.startswith("tests/") else run_check(name, mechanism)
        print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    main()
