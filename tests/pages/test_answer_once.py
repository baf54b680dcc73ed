"""One report per person and round, after all clicks and faults, and no answer in a request."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.service.harness import Server

from .look import Look
from .respondent import CANARIES, FEW, LOST, Person, Visit, check_once, create, refuse, users

pytestmark = [pytest.mark.process, pytest.mark.extras]


def answer_again_and_again(server: Server, visit: Visit, name: str, context: Any) -> list[Look]:
    """Do all that a restless person does, and return the tabs."""
    first = Person(visit(context, LOST), name).open().choose(7)
    first.example()
    first.example()
    assert not first.look.bodies()
    first.button("Send").dblclick()
    first.wait("sent", "already")
    tabs = [first, Person(visit(context, LOST), name).open()]
    for each in tabs:
        each.reload()
        if each.state == "questions":  # an honest page asks nobody twice
            each.choose(9).send()
    return [each.look for each in tabs]


def test_whatever_is_clicked_one_report_is_drawn(
    profiles: Callable[..., Any], server: Server, visit: Visit
) -> None:
    name = create(server, "bits")
    tabs = answer_again_and_again(server, visit, name, profiles())
    check_once(server, name, tabs)
    for each in tabs:
        each.check_clear(CANARIES)
        each.check()


SEND = "done = await device.sender.answer(name, answers, options);"
ANEW = """
  let kept = null;
  const update = async (change) => {
    const [after, made] = change(kept);
    kept = after;
    return made;
  };
  const other = new device.sender.constructor(location.origin, { update });
  done = await other.submit(name, survey.randomize(answers));
"""
FAULTS = {
    "a page that draws a report of its own": ("answer.mjs", SEND, SEND + ANEW),
    "a page that draws again on the next visit": ("answer.mjs", SEND, ANEW),
    "an outbox that lasts as long as its tab": (
        "device.mjs", "indexedDBStore(`outbox ${place}`)", "memoryStore()",
    ),
    "an outbox of its own for each visit": (
        "device.mjs", "`outbox ${place}`", "`outbox ${place} ${Math.random()}`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_that_draws_again_is_found(
    fault: str, profiles: Callable[..., Any], server: Server, visit: Visit
) -> None:
    file, text, broken = FAULTS[fault]
    context, name = profiles(), create(server, "bits")

    def replace(route: Any) -> None:
        answer = route.fetch()
        assert answer.text().count(text) == 1
        route.fulfill(response=answer, body=answer.text().replace(text, broken))

    context.route(f"**/pages/{file}", replace)
    tabs = answer_again_and_again(server, visit, name, context)
    with pytest.raises(AssertionError, match="different bodies"):
        check_once(server, name, tabs)


def test_an_example_that_is_sent_is_found(
    profiles: Callable[..., Any], server: Server, visit: Visit
) -> None:
    context, name = profiles(), create(server, "bits")
    text = "const answers = read(), report = await drawExample(survey, answers, round);"
    broken = text + "await send(answers); return;"

    def replace(route: Any) -> None:
        answer = route.fetch()
        assert answer.text().count(text) == 1
        route.fulfill(response=answer, body=answer.text().replace(text, broken))

    context.route("**/pages/answer.mjs", replace)
    person = Person(visit(context), name).open().choose()
    person.button("Show me an example").click()
    person.wait("sent")
    assert person.look.bodies()


def test_two_tabs_at_once_send_the_same_report(server: Server, visit: Visit) -> None:
    name = create(server, "bits")
    one = Person(visit(), name).open().choose(3)
    two = Person(visit(one.look.context), name).open().choose(8)
    for each in (one, two):
        each.page.evaluate("document.querySelector('button.main').click()")
    states = {each.wait("sent", "already") for each in (one, two)}
    assert "sent" in states
    check_once(server, name, [one.look, two.look])
    one.look.check()
    two.look.check()


def test_a_reload_during_sending_sends_the_same_bytes(server: Server, visit: Visit) -> None:
    person = Person(visit(expected=LOST), create(server, "bits")).open().choose()
    person.page.route("**/reports", lambda route: None)  # nobody answers
    with person.page.expect_request("**/reports"):
        person.button("Send").click()
    person.wait("sending")
    assert "stored on this device" in person.look.text()
    person.look.check_layout()
    person.page.unroute("**/reports")
    person.reload()
    person.wait("sent")
    assert "It waited on this device" in person.look.text()
    assert "(your answer)" not in person.look.text()  # nobody knows it any more
    check_once(server, person.name, [person.look])
    person.look.check_layout()


def test_storage_that_is_lost_during_sending_is_said(server: Server, visit: Visit) -> None:
    person = Person(visit(expected=LOST), create(server, "bits")).open().choose()
    held: list[Any] = []
    person.page.route("**/reports", lambda route: held.append(route))
    with person.page.expect_request("**/reports"):
        person.button("Send").click()
    person.page.evaluate(
        "() => new Promise((done) => indexedDB.deleteDatabase('multi-freq-ldpy').onsuccess = done)"
    )
    held[0].continue_()
    person.wait("unsure")
    assert (
        "may have been sent" in person.look.text() and "Nothing was drawn" not in person.look.text()
    )
    check_once(server, person.name, [person.look])
    person.look.check_layout()


def test_a_round_that_begins_before_send_is_answered_once(server: Server, visit: Visit) -> None:
    period = 6
    times = {"starts": int(time.time()) - 1, "period": period, "grace": 0}
    person = Person(visit(expected=LOST), create(server, "weekly", schedule=times)).open()
    person.consent().choose()
    person.look.context.set_offline(True)
    time.sleep(period)  # the next round has begun, and the page does not know it
    person.send("waiting")
    assert "Nothing was drawn" not in person.look.text()
    assert [each["state"] for each in person.outbox()] == ["waiting"]
    assert person.outbox()[0]["round"] >= 1


@pytest.mark.parametrize("back", ["online", "on the next visit"])
def test_offline_the_report_is_kept_and_sent_later(back: str, server: Server, visit: Visit) -> None:
    person = Person(visit(expected=LOST), create(server, "bits"))
    person.page.add_init_script("globalThis.setInterval = () => 0")  # only the event is left
    person.open().choose()
    context = person.look.context
    context.set_offline(True)
    person.send("waiting")
    assert "the report is stored, and exactly these bytes will be sent" in person.look.text()
    assert [each["state"] for each in person.outbox()] == ["waiting"]
    shown = bytes.fromhex(person.outbox()[0]["report"]).hex(" ")
    assert not person.page.locator(".bytes").count() and "The report" not in person.look.text()
    assert users(server, person.name) == 0
    tabs = [person.look]
    if back == "on the next visit":
        person.page.goto("about:blank")
        context.set_offline(False)
        person = Person(visit(context), person.name).open()
        tabs.append(person.look)
    else:
        person.look.check_layout()
        context.set_offline(False)
    person.wait("sent")
    assert "It waited on this device" in person.look.text()
    assert person.page.locator(".bytes").inner_text() == shown
    check_once(server, person.name, tabs)
    assert shown == tabs[-1].bodies()[-1][1][41:].hex(" ")


def test_a_report_that_waits_is_tried_each_half_minute(server: Server, visit: Visit) -> None:
    person = Person(visit(expected=LOST), create(server, "bits"))
    person.page.clock.install()
    person.open().choose()
    person.page.route("**/reports", refuse(403, "forbidden"))
    person.send("refused")
    person.page.unroute("**/reports")
    assert len(person.look.bodies()) == 1
    person.page.clock.run_for(31_000)
    person.wait("sent")
    assert len(person.look.bodies()) == 2
    check_once(server, person.name, [person.look])


def test_answers_stay_nowhere(server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, "bits")).open().choose(5)
    person.reload()
    assert person.page.locator("select").input_value() == ""  # no form is restored
    person.choose(5).send()
    [entry] = person.outbox()
    assert (entry["state"], entry["report"]) == ("sent", None)
    assert sorted(person.kept()) == [f"outbox {person.name}"]
    fields = {"digest", "id", "report", "round", "state", "survey"}
    assert entry.keys() == fields
    stored = person.page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
    assert stored == "[{},{}]"
    assert person.page.context.cookies() == []
    person.reload()
    assert person.state == "already"
    assert not any(each in person.look.text() for each in CANARIES)
    assert "A second one is never drawn" in person.look.text()


def test_no_request_has_an_answer(server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, "two", keep=True)).open().choose(2)
    for _ in range(3):
        person.example()
    person.send()
    person.look.check_clear([*CANARIES, *FEW, "smokes"])
    [(path, body)] = person.look.bodies()
    assert path == f"/v1/surveys/{person.name}/reports"
    with pytest.raises(AssertionError):
        person.look.check_clear([body[41:].decode("latin-1")])
    person.look.check()
