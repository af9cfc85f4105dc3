from __future__ import annotations

import re

from streaming.delivery.sse import RETRY_MS, Messages


def test_a_message_is_one_line_of_data_behind_its_id() -> None:
    message = Messages()
    message("{}")
    sent = message('{"a":"\u2028"}', "1-ab:7")
    assert sent["body"] == 'id: 1-ab:7\ndata: {"a":"\u2028"}\n\n'.encode()
    assert sent["more_body"] is True


def test_the_first_message_alone_says_when_to_come_back() -> None:
    message = Messages()
    first, second = (message("{}", "1-ab:7")["body"].decode() for _ in range(2))
    assert re.fullmatch(r"retry: \d+\nid: 1-ab:7\ndata: {}\n\n", first)
    assert second == "id: 1-ab:7\ndata: {}\n\n"


def test_those_who_lose_a_process_together_come_back_one_by_one() -> None:
    waits = [int(Messages()("{}")["body"].split()[1]) for _ in range(2_000)]
    least, most = RETRY_MS
    assert least <= min(waits)
    assert max(waits) <= most
    # Each tenth of the time gets its share: with 200 expected, half of it is beyond seven deviations.
    tenths = [
        sum(least + (most - least) * n / 10 <= w < least + (most - least) * (n + 1) / 10 for w in waits)
        for n in range(10)
    ]
    assert min(tenths) > 100
