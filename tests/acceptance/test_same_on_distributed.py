"""The most important of the same tests, on one distributed whole. `make test-distributed` has all of them.

Some kill or drain it, and start it again on the same data.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance import test_interrupts as interrupts
from tests.acceptance.conftest import MakeModel
from tests.acceptance.test_interrupts import (
    test_a_stop_during_the_wait_for_a_retry_is_told_as_such,
    test_a_stop_while_arguments_are_written_clears_them_and_nothing_runs,
    test_an_input_may_interrupt_the_run_before_it,
    test_an_interrupt_is_of_one_run_and_of_inputs_up_to_an_order,
)
from tests.acceptance.test_main_job import (
    test_a_call_is_seen_written_running_and_ended_under_one_identity,
)
from tests.acceptance.test_progress import (
    test_a_call_is_hidden_until_its_name_is_known_and_then_has_its_preview,
    test_the_last_window_of_a_burst_is_published_without_another_event,
)
from tests.acceptance.test_recovery import (
    mortal,
    test_an_actor_replaced_in_mid_call_leaves_a_lost_call_and_a_new_generation,
    test_inputs_accepted_before_a_kill_are_answered_in_order_and_the_running_call_is_lost,
    test_sigterm_lets_the_step_end_and_leaves_nothing_open,
)
from tests.acceptance.test_sign_in import (
    test_a_login_counts_at_its_own_origin_alone,
    test_failed_tries_are_counted_together_and_no_claim_makes_a_client_another_one,
)
from tests.acceptance.test_stream import (
    test_pages_sockets_and_sse_give_the_same_events_for_the_same_cursor,
    test_sse_tells_what_is_written_while_the_provider_is_silent,
    test_who_attaches_late_sees_the_call_that_runs,
)
from tests.support.common_server import PATIENT
from tests.support.modes import MODE, Servers
from tests.support.server import ServerProcess

__all__ = [
    "mortal",
    "test_a_call_is_hidden_until_its_name_is_known_and_then_has_its_preview",
    "test_a_call_is_seen_written_running_and_ended_under_one_identity",
    "test_a_login_counts_at_its_own_origin_alone",
    "test_a_stop_during_the_wait_for_a_retry_is_told_as_such",
    "test_a_stop_while_arguments_are_written_clears_them_and_nothing_runs",
    "test_an_actor_replaced_in_mid_call_leaves_a_lost_call_and_a_new_generation",
    "test_an_input_may_interrupt_the_run_before_it",
    "test_an_interrupt_is_of_one_run_and_of_inputs_up_to_an_order",
    "test_failed_tries_are_counted_together_and_no_claim_makes_a_client_another_one",
    "test_inputs_accepted_before_a_kill_are_answered_in_order_and_the_running_call_is_lost",
    "test_pages_sockets_and_sse_give_the_same_events_for_the_same_cursor",
    "test_sigterm_lets_the_step_end_and_leaves_nothing_open",
    "test_sse_tells_what_is_written_while_the_provider_is_silent",
    "test_the_last_window_of_a_burst_is_published_without_another_event",
    "test_who_attaches_late_sees_the_call_that_runs",
]

pytestmark = pytest.mark.skipif(MODE == "distributed", reason="the files that these come from run whole")


@pytest.fixture(scope="module")
def server(distributed_servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with distributed_servers.running(tmp_path_factory.mktemp("whole") / "data", **PATIENT) as running:
        yield running


def test_a_stop_ends_a_cell(server: ServerProcess, model_on: MakeModel) -> None:
    """Of one kind: how a kernel is stopped or killed is its host's alone, and the same everywhere."""
    interrupts.test_a_stop_ends_a_cell_whatever_it_does(server, server, model_on, "busy loop")
