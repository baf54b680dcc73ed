"""A weekly survey from its first to its last round, with everything that goes wrong on the way.

Devices are offline, are installed again, have wrong clocks and change their answers. The network
loses and repeats bodies. The service is killed, and moves from SQLite to PostgreSQL. In the end,
all figures equal those of a recount of the bytes that were acknowledged.
"""

import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from multi_freq_ldpy import Sender, Survey
from multi_freq_ldpy.sending import known
from multi_freq_ldpy.sending.outbox import SENT, Outbox
from multi_freq_ldpy.service import delivery
from multi_freq_ldpy.service.batch import HEADER, ID_BYTES, read_header
from multi_freq_ldpy.service.moving import copy_database
from multi_freq_ldpy.service.remote import Refused
from multi_freq_ldpy.service.store import Store

from .devices import Between
from .harness import BINARY, Server, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.extras]

DEVICES, ROUNDS, WEEK, GRACE = 300, 8, 604_800, 43_200
START = 1_700_000_000
SURVEY = Survey({"mood": ["low", "fair", "high"], "slept": ["yes", "no"]}, eps_perm=3.0, eps_1=1.5)
PATH = "/v1/surveys/weekly"

# The service reads its clock from a file
PROGRAM = """
import time
from pathlib import Path
from types import SimpleNamespace
from multi_freq_ldpy.service import api, groups, rounds, server, submit
clock = SimpleNamespace(
    time=lambda: float(Path({path!r}).read_text()), monotonic=time.monotonic
)
for module in (api, groups, rounds, server, submit):
    module.time = clock
from multi_freq_ldpy.cli import main
main()
"""


@dataclass
class Clock:
    """The true time of the service, in a file."""

    path: Path
    now: float = START

    def move(self, now: float) -> None:
        """Set the time."""
        self.now = now
        part = self.path.with_suffix(".part")
        part.write_text(str(now))
        part.replace(self.path)


@dataclass
class Device:
    """A device with its own folder, clock and answers."""

    folder: Path
    chooser: random.Random
    skew: float = 0.0
    answers: dict[str, str] = field(default_factory=dict)
    lost: int = 0

    @property
    def outbox(self) -> Path:
        """The outbox."""
        return self.folder / "outbox"

    def live(self) -> None:
        """Change some answers."""
        for name, labels in SURVEY.attributes.items():
            if name not in self.answers or self.chooser.random() < 0.3:
                self.answers[name] = self.chooser.choice(labels)

    def count_sent(self) -> int:
        """Return the number of reports that this device has sent, in all its installations."""
        if not self.outbox.exists():
            return self.lost
        entries = Outbox(self.outbox).read().reports.values()
        return self.lost + sum(each.state == SENT for each in entries)

    def install_again(self) -> None:
        """Lose everything."""
        self.lost = self.count_sent()
        shutil.rmtree(self.folder)
        self.folder.mkdir()


@contextmanager
def clocks_of_devices(clock: Clock, skews: dict[int, float]) -> Iterator[None]:
    """Let each thread of a device see the time of the device."""

    def read() -> float:
        return clock.now + skews.get(threading.get_ident(), 0.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "time", SimpleNamespace(time=read))
        patch.setattr(delivery, "jitter", lambda low, high: max(low, 0.01))
        yield


def recount(counted: list[tuple[str, bytes]]) -> dict[int, dict[bytes, bytes]]:
    """Return the reports that were acknowledged, by round and id. Equal ids have equal reports."""
    found: dict[int, dict[bytes, bytes]] = {}
    for _, body in counted:
        own = found.setdefault(read_header(body).round, {})
        name, report = body[HEADER.size :][:ID_BYTES], body[HEADER.size + ID_BYTES :]
        assert own.setdefault(name, report) == report, "a report was drawn again"
    return found


def run_week(
    number: int, devices: list[Device], clock: Clock, between: Between, disturb: Callable[[], None]
) -> dict[str, int]:
    """Let all devices answer, some offline, late, twice, or after a loss of everything."""
    skews: dict[int, float] = {}
    seen = dict.fromkeys(("sent", "kept", "early", "refused", "installed", "flushed"), 0)

    def use(device: Device) -> str:
        skews[threading.get_ident()] = device.skew
        device.live()
        offline = device.chooser.random() < 0.15
        url = "http://127.0.0.1:9" if offline else between.url
        sender = Sender(url, device.outbox)
        try:
            state = sender.answer("weekly", device.answers, timeout=0.2 if offline else 60).state
        except Refused:
            return "refused"
        except OSError:
            return "kept"
        except ValueError:  # by the clock of the device, the survey has not begun
            return "early"
        if device.chooser.random() < 0.1:  # once more, with other answers: the first ones count
            device.live()
            assert sender.answer("weekly", device.answers).state == "sent before"
        return state.split()[0]

    def send_rest(device: Device) -> str:
        if not device.outbox.exists():
            return "kept"
        try:
            return "flushed" if Sender(between.url, device.outbox).flush() else "kept"
        except Refused:
            return "refused"

    with clocks_of_devices(clock, skews), ThreadPoolExecutor(8) as pool:
        for begin, share in ((0.1, slice(0, None, 2)), (0.6, slice(1, None, 2))):
            clock.move(START + (number + begin) * WEEK)
            some = [each for each in devices[share] if each.chooser.random() < 0.9]
            found = pool.map(use, some)
            if begin > 0.5:
                disturb()
            for state in found:
                seen[state] += 1
        for device in devices:
            if device.chooser.random() < 0.03:
                device.install_again()
                seen["installed"] += 1
                seen[use(device)] += 1
        # Within the time of grace, what waits still counts. Later, it is refused for ever
        some = [each for each in devices if each.chooser.random() < 0.7]
        clock.move(START + (number + 1) * WEEK + GRACE / 2)
        for state in pool.map(send_rest, some):
            seen[state] += state != "kept"
    return seen


def test_a_weekly_survey_of_eight_rounds(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    chooser = random.Random(1)
    clock = Clock(tmp_path / "clock")
    clock.move(START)
    folder = tmp_path / "devices"
    devices = []
    for i in range(DEVICES):
        skew = chooser.choice([0.0] * 8 + [-2.0 * WEEK, 0.9 * WEEK])
        devices.append(Device(folder / str(i), random.Random(i), skew))
        devices[-1].folder.mkdir(parents=True)
    first = f"sqlite:///{tmp_path}/service.sqlite"
    second = request.getfixturevalue("cluster").create_database()
    server = Server(first, program=PROGRAM.format(path=str(clock.path))).start()
    between = Between(server.port)
    content = {"name": "weekly", "spec": SURVEY.to_spec()}
    times = {"starts": START, "period": WEEK, "grace": GRACE}
    assert server.ask("POST", "/v1/surveys", content | {"schedule": times})[0] == 201
    assert server.ask("PATCH", PATH, {"state": "open"})[0] == 200

    def kill() -> None:
        time.sleep(0.2)
        server.kill()
        server.start()

    def move() -> None:
        time.sleep(0.2)
        server.kill()
        old, new = Store(first), Store(second)
        copy_database(old, new)
        old.close()
        new.close()
        server.database = second
        server.start()

    seen: dict[str, int] = {}
    disturbed = {1: kill, 3: move, 6: kill}
    try:
        for number in range(ROUNDS):
            found = run_week(number, devices, clock, between, disturbed.get(number, lambda: None))
            seen = {key: seen.get(key, 0) + many for key, many in found.items()}
            repeat(between, server, chooser)
        clock.move(START + (ROUNDS + 1) * WEEK)
        wait_for_rounds(server)
        between.close()
        reports = recount(between.counted)
        assert sum(map(len, reports.values())) == sum(each.count_sent() for each in devices)
        compare(reports, server, seen)
    finally:
        between.close()
        server.kill()
    print(seen)


def repeat(between: Between, server: Server, chooser: random.Random) -> None:
    """Send some bodies of the network once more. None counts, or their round is closed."""
    for _, body in chooser.sample(between.counted, 30):
        status, answer = server.ask("POST", f"{PATH}/reports", body, BINARY)
        assert status == 409 or answer == {"counted": 0, "duplicates": 1}


def wait_for_rounds(server: Server) -> None:
    """Wait until the service has closed all rounds but the present one."""

    def is_over() -> bool:
        states = [each["state"] for each in server.ask("GET", f"{PATH}/rounds")[1]]
        return set(states[:ROUNDS]) == {"closed"}

    wait_until(is_over, patience=60)


def compare(reports: dict[int, dict[bytes, bytes]], server: Server, seen: dict[str, int]) -> None:
    """Compare tallies and estimates of all rounds with those of a recount."""
    assert all(seen[key] > 5 for key in ("sent", "kept", "refused", "installed", "flushed")), seen
    assert all(len(reports[number]) > DEVICES / 2 for number in range(ROUNDS))
    for number, own in sorted(reports.items())[:ROUNDS]:  # clocks that are ahead have begun more
        tally = SURVEY.tally(list(own.values()))
        path = f"{PATH}/rounds/{number}"
        assert server.ask("GET", f"{path}/tally")[1] == SURVEY.pack(tally)
        shown = server.ask("GET", f"{path}/estimate")[1]["rounds"][0]
        assert shown["users"] == len(own)
        estimates = SURVEY.estimate(tally)
        for attribute in shown["attributes"]:
            raw = estimates[attribute["name"]]
            found = np.array([[each["frequency"], each["std"]] for each in attribute["values"]])
            assert np.array_equal(found.T, [raw.frequencies, raw.std])
