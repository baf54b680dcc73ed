"""Surveys over time: consent, a limit, what was spent, leaving, and beginning again."""

import pytest

from tests.service.harness import Server

from .respondent import CANARIES, LOST, Person, Visit, check_once, create, users

pytestmark = [pytest.mark.process, pytest.mark.extras]


def next_round(server: Server, name: str, number: int) -> None:
    """Open a round."""
    status, found = server.ask("POST", f"/v1/surveys/{name}/rounds", {"number": number})
    assert status == 201, found


def test_consent_comes_before_anything_is_stored(server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, "weekly")).open()
    assert person.state == "consent"
    assert not person.kept()
    person.consent("2 times")
    assert sorted(person.kept()) == [f"changes {person.name}", f"client {person.name}"]
    shown = person.look.text()
    assert "No report was drawn so far." in shown
    assert "Your limit: 2 changes of your answers, which is 404 times." in shown
    assert "may delete the secret" in shown
    person.look.check_layout()
    assert not person.look.bodies()
    assert person.reload().state == "questions"
    assert "Your limit: 2 changes" in person.look.text()


def test_costs_are_told_before_they_are_spent(server: Server, visit: Visit) -> None:
    name = create(server, "weekly")
    person = Person(visit(), name).open().consent("Once")
    new = (
        "This answer is new. It multiplies the number for all your reports by up to 7.39, to 7.39."
    )
    person.choose(1)
    person.page.get_by_text(new).wait_for()
    kept = person.kept()
    person.example()
    assert person.kept() == kept  # an example charges nothing
    person.send()
    assert "The bars are about this report alone." in person.look.text()
    spent = "All reports so far are at most 7.39 times as likely"
    assert spent in person.look.text()
    next_round(server, name, 1)
    person.reload().choose(1)
    person.page.get_by_text("You gave this answer before. It weakens nothing.").wait_for()
    person.choose(2)
    person.page.get_by_text("by up to 7.39, to 54.6.").wait_for()
    person.choose(1).send()
    assert spent in person.look.text()
    assert users(server, name) == 2
    person.look.check_clear(CANARIES)
    person.look.check()


def test_a_limit_stops_a_new_answer_and_lets_old_ones_pass(server: Server, visit: Visit) -> None:
    name = create(server, "weekly")
    person = Person(visit(), name).open().consent().choose(1)
    person.send()
    next_round(server, name, 1)
    person.reload().choose(2)
    person.page.get_by_text("above your limit. If you press Send, nothing is sent.").wait_for()
    person.send("limit")
    assert "Nothing was drawn, and nothing was sent." in person.look.text()
    person.look.check_layout()
    assert users(server, name) == 1
    person.button("Back to the questions").click()
    person.wait("questions")
    person.choose(1).send()
    assert users(server, name) == 2
    assert person.reload().state == "already"
    assert "Come back in the next round" in person.look.text()


def test_without_a_limit_any_answer_is_sent(server: Server, visit: Visit) -> None:
    name = create(server, "weekly")
    person = Person(visit(), name).open().consent("Any number of times")
    for round in range(4):
        if round:
            next_round(server, name, round)
            person.reload()
        assert "Your limit: none." in person.look.text()
        person.choose(round).send()
    assert "at most 2,990 times" in person.look.text()  # above e to the power of 8
    assert users(server, name) == 4


def test_a_person_leaves_and_begins_again(server: Server, visit: Visit) -> None:
    name = create(server, "weekly")
    person = Person(visit(), name).open().consent()
    secret = person.kept()[f"client {name}"]
    person.button("Leave this survey").click()
    dialog = person.page.get_by_role("dialog")
    assert "The secret is deleted" in dialog.inner_text()
    person.look.check_layout()
    dialog.get_by_role("button", name="Cancel").click()
    assert person.state == "questions"
    person.button("Leave this survey").click()
    dialog.get_by_role("button", name="Leave").click()
    person.wait("left")
    assert "the number 7.39 is multiplied with itself" in person.look.text()
    person.look.check_layout()
    assert person.reload().state == "left"
    assert person.kept()[f"client {name}"] == "left\n"
    person.button("Begin again").click()
    person.wait("consent")
    person.consent("Once")
    assert person.kept()[f"client {name}"] != secret
    person.choose().send()
    assert users(server, name) == 1


def test_a_person_can_leave_a_survey_that_is_closed(server: Server, visit: Visit) -> None:
    name = create(server, "weekly")
    person = Person(visit(), name).open().consent().choose()
    person.send()
    assert server.ask("PATCH", f"/v1/surveys/{name}", {"state": "closed"})[0] == 200
    person.reload()
    assert person.state == "closed"
    person.button("Leave this survey").click()
    assert person.page.locator("dialog button:focus").inner_text() == "Cancel"
    person.page.get_by_role("dialog").get_by_role("button", name="Leave", exact=True).click()
    person.wait("left")
    assert person.kept()[f"client {name}"] == "left\n"


def test_a_report_that_waits_offers_no_leaving(server: Server, visit: Visit) -> None:
    person = Person(visit(expected=LOST), create(server, "weekly")).open().consent().choose()
    person.look.context.set_offline(True)
    person.send("waiting")
    assert not person.button("Leave this survey").count()  # the report would be sent after it


def test_who_leaves_in_another_tab_has_left_here(server: Server, visit: Visit) -> None:
    name = create(server, "weekly")
    one = Person(visit(), name).open().consent()
    two = Person(visit(one.look.context), name).open()
    one.button("Leave this survey").click()
    one.page.get_by_role("dialog").get_by_role("button", name="Leave").click()
    one.wait("left")
    two.choose()
    two.wait("left")
    assert not two.look.bodies()
    two.look.check()


def test_a_damaged_record_is_never_replaced_in_silence(server: Server, visit: Visit) -> None:
    name = create(server, "weekly")
    person = Person(visit(), name).open().consent()
    person.write(f"client {name}", "garbage")
    assert person.reload().state == "damaged-record"
    assert "cannot be used" in person.look.text()
    person.look.check_layout()
    person.button("Delete the record").click()
    dialog = person.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Cancel").click()
    assert person.kept()[f"client {name}"] == "garbage"
    person.button("Delete the record").click()
    dialog.get_by_role("button", name="Delete the record").click()
    person.wait("consent")
    assert not person.look.bodies()


def test_a_record_that_breaks_while_the_page_is_open_draws_nothing(
    server: Server, visit: Visit
) -> None:
    name = create(server, "weekly")
    person = Person(visit(), name).open().consent().choose()
    person.write(f"client {name}", "garbage")
    person.send("damaged-record")
    assert not person.look.bodies()
    assert not person.outbox()


def test_tabs_share_one_report_and_one_charge(server: Server, visit: Visit) -> None:
    name = create(server, "weekly")
    one = Person(visit(), name).open().consent().choose(3)
    two = Person(visit(one.look.context), name).open().choose(8)
    for each in (one, two):
        each.page.evaluate("document.querySelector('button.main').click()")
    assert "sent" in {each.wait("sent", "already") for each in (one, two)}
    check_once(server, name, [one.look, two.look])
    one.reload()
    assert one.state == "already"
    assert "All reports so far are at most 7.39 times" in one.look.text()


def test_a_history_promises_all_rounds_and_is_silent_in_some(server: Server, visit: Visit) -> None:
    seen, name = set(), create(server, "year")
    for _ in range(40):
        person = Person(visit(expected=LOST), name).open()
        assert "How often may your answers change?" not in person.look.text()
        person.button("I agree, begin").click()
        person.wait("questions")
        assert "All rounds together stay below 7.39 times" in person.look.text()
        person.choose()
        if not seen:
            person.example()
        state = person.send("sent", "silent")
        seen.add(state)
        said = {"sent": "cannot be explained alone", "silent": "Nothing is sent in this round"}
        assert said[state] in person.look.text()
        assert len(person.look.bodies()) == (state == "sent")
        assert person.reload().state == {"sent": "already", "silent": "silent"}[state]
        person.look.check()
        person.look.context.close()
        if seen == {"sent", "silent"}:
            return
    pytest.fail(f"40 devices are all {seen}")
