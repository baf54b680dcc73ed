"""A service counts the reports of 4,000 devices over HTTP, and is killed in the middle."""

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from one_question import utf8

from multi_freq_ldpy import Survey
from multi_freq_ldpy.service.batch import write_batch
from multi_freq_ldpy.service.remote import Remote

ANSWERS, SHARES = ["never", "monthly", "weekly", "daily"], [0.62, 0.12, 0.11, 0.15]
DEVICES, TOGETHER = 4_000, 40
TOKEN = secrets.token_urlsafe(32)
PATIENCE = 60.0


class Service:
    """A service in a process of its own, on a temporary file."""

    def __init__(self, folder: Path, survey: Survey) -> None:
        survey.save(folder / "smoking.json")
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            port = listening.getsockname()[1]
        self.command = [sys.executable, "-m", "multi_freq_ldpy", "serve"]
        self.command += [str(folder / "smoking.json"), "--port", str(port)]
        self.command += ["--database", f"sqlite:///{folder}/reports.sqlite"]
        self.command += ["--rate", "0"]  # all devices have one address here
        self.remote = Remote(f"http://127.0.0.1:{port}", TOKEN)
        self.start()

    def start(self) -> None:
        """Start the process."""
        environment = {**os.environ, "MULTI_FREQ_LDPY_ADMIN_TOKEN": TOKEN}
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(self.command, env=environment, stdout=quiet, stderr=quiet)

    def kill(self) -> None:
        """End the process at once, as a loss of power would."""
        self.process.kill()
        self.process.wait()

    def send(self, body: bytes) -> int:
        """Send the same bytes until they are counted, and return the number of retries."""
        end = time.monotonic() + PATIENCE
        for retries in range(10**6):
            with suppress(OSError):
                self.remote.ask("POST", "/v1/surveys/smoking/reports", body)
                return retries
            if time.monotonic() > end or self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit("the service does not answer: pip install 'multi-freq-ldpy[serve]'")


@contextmanager
def serve(survey: Survey) -> Iterator[Service]:
    """Run a service for a block."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), survey)
        try:
            yield service
        finally:
            service.kill()


def main() -> None:
    survey = Survey({"smokes": ANSWERS}, epsilon=2.0)
    truth = np.random.default_rng(7).choice(len(ANSWERS), DEVICES, p=SHARES)
    print(f"How often do you smoke? {DEVICES:,} devices send one report each over HTTP.")
    records = [
        (secrets.token_bytes(16), survey.randomize_one({"smokes": ANSWERS[value]}))
        for value in truth
    ]
    started, retries = time.perf_counter(), 0
    with serve(survey) as service:
        service.send(write_batch(survey.digest, 0, records[:1]))
        for at in range(0, DEVICES, TOGETHER):
            if at == DEVICES // 2:
                service.kill()
                service.start()
            body = write_batch(survey.digest, 0, records[at : at + TOGETHER])
            for _ in range(1 + (at % 400 == 0)):  # some devices do not hear the answer
                retries += service.send(body)
        (tally,) = service.remote.tallies("smoking", survey)
    print(
        f"The service was killed once and started again. {retries} requests were sent again, and"
        f"\n{tally.users:,} reports were counted, each once, in"
        f" {time.perf_counter() - started:.1f} seconds.\n"
    )
    estimate = survey.estimate(tally)["smokes"]
    shares = np.bincount(truth, minlength=len(ANSWERS)) / DEVICES
    print(f"{'':<12}{'truth':>7}  {'estimate':>9}")
    for label, share, f, std in zip(
        ANSWERS, shares, estimate.frequencies, estimate.std, strict=True
    ):
        print(f"{label:<12}{share:7.1%}  {f:9.1%} ± {std:.1%}")


if __name__ == "__main__":
    utf8()
    main()
