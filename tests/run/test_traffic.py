"""What operators move, by hand."""

import pytest
import torch
from torch import nn

from dragoman.run.traffic import Traffic

META = torch.device("meta")


def test_products_are_counted_by_their_sizes_and_move_nothing() -> None:
    a, b = torch.empty(3, 5, device=META), torch.empty(5, 7, device=META)
    with Traffic() as traffic:
        torch.mm(a, b)
        torch.mm(a, b)
        torch.bmm(a.expand(2, 3, 5), b.expand(2, 5, 7))
        torch.mv(a, b[:, 0])
        torch.addmm(torch.empty(7, device=META), a, b)
    assert traffic.products == {
        (1, 3, 5, 7): 3 * 2 * 3 * 5 * 7,
        (2, 3, 5, 7): 2 * 2 * 3 * 5 * 7,
        (1, 3, 5, 1): 2 * 3 * 5,
    }
    assert traffic.operations == 5 * 2 * 3 * 5 * 7 + 2 * 3 * 5
    assert (traffic.moved, traffic.operators) == (0, 5)


def test_other_operators_move_what_they_read_and_write() -> None:
    x = torch.empty(10, device=META)
    with Traffic() as traffic:
        torch.add(x, x)  # two read, one written: 3 * 40 bytes
        x.mul_(2.0)  # read and written
        x.view(2, 5).t()  # nothing
    assert (traffic.moved, traffic.operators) == (120 + 80, 2)


def test_what_is_picked_by_an_index_is_not_read_whole() -> None:
    table, ids = torch.empty(1_000, 4, device=META), torch.zeros(3, dtype=torch.int64, device=META)
    with Traffic() as traffic:
        nn.functional.embedding(ids, table)
    assert traffic.moved == 3 * 8 + 3 * 4 * 4  # ids read, rows written
    rows = torch.empty(2, 9, device=META)
    places = torch.zeros(2, 1, dtype=torch.int64, device=META)
    with Traffic() as traffic:
        rows.scatter_add_(1, places, torch.empty(2, 1, device=META))
    assert traffic.moved == 2 * 8 + 2 * 4  # places and what is added


@pytest.mark.parametrize("backward", [False, True])
def test_a_fused_attention_is_its_products(backward: bool) -> None:
    # 2 sentences, 3 heads, 8 queries, 8 keys, 16 wide: scores and weighted sum, 2 products; five
    # more backward, as scores are made again.
    q, k, v = torch.empty(3, 2, 3, 8, 16, device=META).requires_grad_().unbind(0)
    fused = torch.ops.aten._scaled_dot_product_flash_attention
    with Traffic() as traffic:
        y = fused(q, k, v, 0.0)[0]
        if backward:
            y.sum().backward()
    one = 2 * 6 * 8 * 16 * 8
    assert traffic.products == {(6, 8, 16, 8): (7 if backward else 2) * one}
