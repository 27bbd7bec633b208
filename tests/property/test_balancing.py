"""No contiguous split of up to 12 pieces beats ours."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from app.calculator.balancing import balance, measure

times = st.lists(st.floats(0, 100) | st.integers(0, 9).map(float), min_size=1, max_size=12)


def every_split(n, chunks):
    for cuts in combinations(range(1, n), chunks - 1):
        yield tuple(end - start for start, end in pairwise((0, *cuts, n)))


@given(pieces=times, p=st.integers(1, 6), v=st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_never_beaten_by_trying_all(pieces, p, v):
    ours = balance(pieces, p, virtual_pipeline_stages=v)
    if len(pieces) < p * v:
        assert ours is None
        return
    best_s = min(measure(pieces, split, p).slowest_s for split in every_split(len(pieces), p * v))
    assert ours.slowest_s <= best_s * (1 + 1e-12)
    assert ours.slowest_s >= ours.lower_bound_s * (1 - 1e-12)
    assert ours.exact
    assert len(ours.split) == p * v
    assert min(ours.split) >= 1
    assert sum(ours.split) == len(pieces)


@given(
    pieces=st.lists(st.tuples(st.floats(0, 10), st.integers(0, 9)), min_size=1, max_size=10),
    p=st.integers(1, 4),
    v=st.integers(1, 2),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_never_beaten_within_memory_limits(pieces, p, v, data):
    piece_s = [seconds for seconds, _ in pieces]
    memory = [float(held) for _, held in pieces]
    limits = data.draw(st.lists(st.integers(0, 40).map(float), min_size=p, max_size=p))
    ours = balance(
        piece_s, p, virtual_pipeline_stages=v, piece_memory_bytes=memory, memory_limit_bytes=limits
    )
    measured = [
        measure(piece_s, split, p, piece_memory_bytes=memory) for split in every_split(len(pieces), p * v)
    ]
    fitting = [
        m for m in measured if all(h <= most for h, most in zip(m.stage_memory_bytes, limits, strict=True))
    ]
    if not fitting:
        assert ours is None
        return
    assert ours.slowest_s <= min(m.slowest_s for m in fitting) * (1 + 1e-12)
    assert all(h <= most for h, most in zip(ours.stage_memory_bytes, limits, strict=True))


@given(
    pieces=st.lists(st.floats(0.01, 10), min_size=24, max_size=60), p=st.integers(2, 4), v=st.integers(2, 4)
)
@settings(max_examples=30, deadline=None)
def test_several_chunks_are_never_worse_than_their_starts(pieces, p, v):
    ours = balance(pieces, p, virtual_pipeline_stages=v)
    chunked = balance(pieces, p * v)
    assert ours.slowest_s <= measure(pieces, chunked.split, p).slowest_s * (1 + 1e-9)
    assert ours.slowest_s >= ours.lower_bound_s * (1 - 1e-12)
