"""Mutants for the replay contract: source text replaced in one function of the running code.

A plant puts other text in place of some of a function, compiles it where it stands, and takes it out again. Text
that is no longer there is an error, so that a plant cannot wither unseen.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from tests.contracts.replay.case import Case
from tests.contracts.replay.cases import GROUPS
from tests.contracts.rows import neighbouring_logs


@dataclass(frozen=True)
class Plant:
    """A bug: in which function, what is put in place of what, and the family whose cases must find it."""

    name: str
    family: str
    group: str
    where: str
    old: str
    new: str

    @contextlib.contextmanager
    def planted(self) -> Iterator[None]:
        """Plant it, and take it out."""
        module, _, path = self.where.partition(":")
        *outer, name = path.split(".")
        owner: Any = importlib.import_module(f"headcount.{module}")
        for name_part in outer:
            owner = getattr(owner, name_part)
        # what other modules imported by name must change as well: the code of the function, not the name
        function = inspect.unwrap(inspect.getattr_static(owner, name))
        assert isinstance(function, FunctionType), f"{self.where} is no function"
        text = textwrap.dedent(inspect.getsource(function))
        assert text.count(self.old) == 1, f"{self.old!r} is {text.count(self.old)} times in {self.where}"
        compiled: dict[str, Any] = {}
        code = compile(
            f"from __future__ import annotations\n{text.replace(self.old, self.new)}", self.name, "exec"
        )
        exec(code, function.__globals__, compiled)
        sound, function.__code__ = function.__code__, inspect.unwrap(compiled[name]).__code__
        try:
            yield
        finally:
            function.__code__ = sound

    @property
    def cases(self) -> Iterator[Case | neighbouring_logs.Case]:
        """The cases that may find it."""
        return neighbouring_logs.PLANTED[self.group]() if self.family == "sources" else GROUPS[self.group]()


_BOUNDS = "__import__('headcount.bounds').bounds"
_ACTIVITY = f"{_BOUNDS}.ActivityHistogram('items', 99)"
_USERS = f"engine.measure(log, {_BOUNDS}.ratings.rating_bound.Raters(), bytes(16)).sensitive_values[0]"
_TAG_WEIGHTS = f"engine.measure(tagged, {_BOUNDS}.tags.tag_weights.TagWeights(norm), NO_SECRET).sensitive_values"


def _resealed(values: str, like: str) -> str:
    """Say other values with the sensitivity of these."""
    return (
        f"__import__('headcount.bounds.bounded').bounds.bounded.Bounded({values}, {like}.sensitivity, "
        f"__import__('headcount.bounds.bounded').bounds.bounded.SEAL, unit={like}.unit)"
    )


ISSUE = (
    Plant(
        "the automatic choice looks at the exact total", "queries", "auto",
        "methods.queries.auto:Automatic.measure",
        'fits = not is_above_noise(plan, total.records,',
        'fits = not is_above_noise(plan, float(cells.sensitive_values.sum()),',
    ),
    Plant(
        "pairs of ratings are chosen from exact offsets", "neighbours", "neighbours",
        'methods.recommender.rating_model:RatingModel.measure',
        "largest(support, items)",
        'largest(engine.measure(log, RatingOffsets(OFFSETS_LENGTH[norm], norm), NO_SECRET).sensitive_values[1], '
        'items)',
    ),
    Plant(
        "kept tags are chosen by exact weights", "tags", "tags", "methods.tags.model:TagModel.measure",
        "exact = engine.measure(tagged, marginals.second_bound(norm), NO_SECRET)",
        f"exact = {_TAG_WEIGHTS}\n"
        "    kept = marginals.kept_tags; kept.sort(); kept[:] = sorted((-exact).argsort()[: kept.size])\n"
        "    exact = engine.measure(tagged, marginals.second_bound(norm), NO_SECRET)",
    ),
    Plant(
        "items in pairs are chosen by exact counts", "neighbours", "neighbours",
        'methods.recommender.co_occurrence:CoOccurrence.measure',
        "largest(items.values, self.items)", "largest(counted.sensitive_values, self.items)",
    ),
)  # fmt: skip
"""With these four at once, all other tests passed."""

COUNTS = (
    Plant(
        "one record more is kept than is declared", "counts", "sra", "bounds.counts.count_bound:CountBound.seal",
        "return BoundedCounts(sealed(items), sealed(edges))",
        "self = self if self.limit == 1 else type(self)(self.limit - 1)\n"
        "    return BoundedCounts(sealed(items), sealed(edges))",
    ),
    Plant(
        "the records of heavy users are not cut", "counts", "lpa",
        "methods.counts.simple_random:SimpleRandom.measure",
        "return add_table_noise(",
        "free = engine.measure(log, SampleRecords(2**31 - 1), bytes(16))\n"
        "    counts = type(counts)("
        + _resealed("free.items.sensitive_values", "counts.items") + ", "
        + _resealed("free.edges.sensitive_values", "counts.edges") + ")\n"
        "    return add_table_noise(",
    ),
    Plant(
        "the limit is that of the most active person", "counts", "adaptive",
        "methods.counts.adaptive:Adaptive.measure",
        "threshold=self.limit,",
        "threshold=self.limit or 1 + int(max("
        f"engine.measure(log, {_ACTIVITY}, bytes(16)).sensitive_values.nonzero()[0], default=0"
        ")),",
    ),
    Plant(
        "popularity is ranked without noise", "counts", "hpa", "methods.counts.hand_picked:HandPicked.measure",
        'KeepTopScored(self.limit, scores)', 'KeepTopScored(self.limit, Noisy(sampled.items.sensitive_values, '
        'scores.distribution))',
    ),
    Plant(
        "columns are sorted by exact counts", "counts", "gs-s",
        "methods.counts.smoothing.sampled_groups:SampledGroups.make",
        "groups = self._groups(sample,",
        'groups = self._groups(Noisy(getattr(engine.measure(log, SampleRecords(self.limit), bytes(16)), '
        'table).sensitive_values, sample.distribution),',
    ),
    Plant(
        "the best limit is taken, not drawn", "counts", "dpsense",
        "methods.counts.dpsense:SensitivityControl.make",
        'theta = drawable(1 + choose_candidate(scored, parts["choice"], noise), parts["counts"].cost)',
        "theta = 1 + int(scored.sensitive_gaps.argmin()); parts[\"choice\"].spend()",
    ),
    Plant(
        "coefficients that are zero get no noise", "counts", "fpa",
        "methods.counts.walsh_hadamard:WalshHadamardPerturbation.make",
        "values = inverse_walsh_hadamard(noisy.counts,",
        "values = inverse_walsh_hadamard(noisy.counts * (coefficients.sensitive_values[:kept] != 0),",
    ),
    Plant(
        "a noise scale of half of what is needed", "counts", "gs-r", "noise.mechanisms:_confirmed",
        'laplace.confirm(scale, sensitivity.l1, within)', "scale /= 2",
    ),
    Plant(
        "each table gets the whole budget", "counts", "sra", "methods.counts.simple_random:SimpleRandom.measure",
        'grants = split_among_stages(self.stages(log, grant.cost), grant)',
        'grant.spend(); grants = {each.name: Grant(grant.cost) for each in self.stages(log, grant.cost)}',
    ),
    Plant(
        "the story tells how many people there are", "counts", "sra",
        "methods.counts.simple_random:SimpleRandom.measure",
        "steps = [self",
        f"steps = [str({_USERS}), self",
    ),
    Plant(
        "the scale-up sees exact sums", "counts", "dpsense", "methods.counts.dpsense:weighted",
        "counts=noisy.counts * float(factor)",
        "counts=noisy.counts * float(factor) * (1 if counts.sensitive_values.sum() else 0)",
    ),
)  # fmt: skip

RANKINGS = (
    Plant(
        "winners are put in their exact order", "rankings", "rankings",
        "methods.rankings.top_k:DirectTopK._ranked",
        "return Ranked(winners), None",
        "dense = _part(counts, range(counts.size)).sensitive_values\n"
        "        return Ranked(sorted(winners, key=lambda each: -dense[each])), None",
    ),
    Plant(
        "contexts that nobody is in are left out", "rankings", "rankings",
        "methods.rankings.top_k:DirectTopK._peeled",
        'rankings = [self._ranked(counts, part, noise) for counts, part in zip(columns, parts, strict=True)]',
        'rankings = [self._ranked(counts, part, noise) for counts, part in zip(columns, parts, strict=True) if '
        'not isinstance(counts, Bounded) or counts.sensitive_values.any() or part.spend() is None] or '
        '[(Ranked([]), None)]',
    ),
    Plant(
        "every context gets all of ε", "rankings", "rankings", "methods.rankings.top_k:DirectTopK._rankings",
        "self.per_context and log.context_of == \"user\"", "True",
    ),
    Plant(
        "people who leave lower what they did not have", "rankings", "rankings",
        "bounds.scores.candidate_scores:count_scores",
        "Scored(counts.sensitive_values.ravel().copy(), rise",
        "Scored(counts.sensitive_values.ravel() * 9 // (1 + counts.sensitive_values.min()), rise",
    ),
    Plant(
        "peeling stops where nobody is left", "rankings", "rankings", "methods.rankings.top_k:DirectTopK._ranked",
        'winners = choose_top_k(_scores(counts), self.k, grants["ranking"], noise)',
        'winners = choose_top_k(_scores(counts), max(1, min(self.k, int((_part(counts, '
        'range(counts.size)).sensitive_values > 0).sum()))), grants["ranking"], noise)',
    ),
    Plant(
        "which way is taken hangs on exact activity", "rankings", "rankings",
        "methods.rankings.top_k:DirectTopK._counted",
        "if not (counts.find_more(log, self.k, draw.scale) if grant.delta else counts.pays(draw.deviation)):",
        f"if not engine.measure(log, {_ACTIVITY}, bytes(16)).sensitive_values[7:].any():",
    ),
    Plant(
        "permute-and-flip is paid with ρ", "rankings", "rankings", "noise.selection.top_k:choose_top_k",
        "anew = grant.delta > 0", "anew = False",
    ),
    Plant(
        "picks have half the noise that ρ pays for", "rankings", "rankings", "noise.selection.top_k:_confirmed",
        "exponential_zcdp.confirm(scale, k, rise, rho)", "scale /= 2",
    ),
    Plant(
        "every context gets all of ρ", "rankings", "rankings", "methods.rankings.top_k:DirectTopK._rankings",
        "apart=apart", "apart=price.delta > 0",
    ),
)  # fmt: skip

SELECTION = (
    Plant(
        "two items more of each person count", "selection", "selection",
        "bounds.keys.key_support:KeySupport.measure",
        "_Histories(users, self.limit,", "_Histories(users, self.limit + 2,",
    ),
    Plant(
        "no noise before the "
        "threshold", "selection", "selection", "noise.partition_selection.threshold:select_by_threshold",
        'noisy = users_by_item + draw(threshold.distribution, users_by_item.size, source)', 'noisy = '
        'users_by_item',
    ),
    Plant(
        "the threshold allows for no δ", "selection", "selection",
        "noise.partition_selection.threshold:threshold_for",
        'Threshold(1 + _steps_above(limit, distribution.scale, cost.delta), distribution)', 'Threshold(2, '
        'distribution)',
    ),
    Plant(
        "it is told how many items there were", "selection", "selection",
        "methods.partition_selection.plan:Selection.select",
        'engine.measure(item_log, KeySupport(self.limit), noise.key()), grant, noise',
        "(counted := engine.measure(item_log, KeySupport(self.limit), noise.key())), grant, noise\n            )\n"
        "        plan.update(of=len(counted.sensitive_ids)",

    ),
    Plant(
        "the selected items come in exact order", "selection", "selection",
        "noise.partition_selection.threshold:select_by_threshold",
        "chosen.sort()",
        'chosen.sort(key=dict(zip(support.sensitive_ids.to_pylist(), (-users_by_item).tolist())).get)',
    ),
    Plant(
        "a round without noise", "selection", "selection",
        'noise.partition_selection.weighted_rounds:WeightedSelection.take_round',
        'weights.sensitive_weights + gaussian.draw(distribution, len(ids), '
        'self._source)', "weights.sensitive_weights",
    ),
    Plant(
        "people spread twice the weight", "selection", "selection", "bounds.keys.key_weights:_roots",
        'UNITS["roots"] ** 2 * squares', '4 * UNITS["roots"] ** 2 * squares',
    ),
    Plant(
        "people name all of their "
        "items", "selection", "selection", "bounds.keys.key_weights:KeyWeights.measure",
        "codes = codes[_first(users, -by, held.draws_of(users, codes, secret))]", 'passes',
    ),
    Plant(
        "which way is taken hangs on the exact variety", "selection", "selection",
        "methods.partition_selection.plan:_select_unbounded",
        "if variety.values[0] >= 0:", 'if engine.measure(log, DistinctItemsSign(), secret).sensitive_values[0] % '
        '4 < 2:',
    ),
    Plant(
        "every context there is is listed", "selection", "selection of contexts",
        "methods.partition_selection.plan:Selection.select",
        'return self.of.put(log, selected), plan',
        "there = engine.measure(item_log, KeySupport(9), noise.key()).sensitive_ids.to_pylist()\n    return "
        "self.of.put(log, there if self.of.noun == 'context' else selected), plan",
    ),
)  # fmt: skip

TOTALS = (
    Plant(
        "a person counts once per record among the people", "totals", "totals",
        "bounds.values.user_totals:UserTotals.seal",
        'Bounded(_total((records > 0).astype(np.int64)), Sensitivity.of_l1(1), SEAL)',
        'Bounded(_total(np.minimum(records, 2)), Sensitivity.of_l1(1), SEAL)',
    ),
    Plant(
        "records beyond the limit count", "totals", "totals", "bounds.values.user_totals:UserTotals.seal",
        "counted = np.clip(records, 0, limit)", "counted = np.clip(records, 0, limit + 1)",
    ),
    Plant(
        "the sum of heavy people is not shared out", "totals", "totals",
        "bounds.values.user_totals:UserTotals.seal",
        "np.clip(part, -most, most)", "distances",
    ),
    Plant(
        "there is a mean only where there are records", "totals", "totals", "methods.totals.totals:Totals.release",
        "if exact.distances is not None and within is not None:",
        "if exact.distances is not None and within is not None and (exact.records.sensitive_values[0] or "
        "not grants[\"sum\"].spend()):",
    ),
    Plant(
        "the mean is of exact records", "totals", "totals", "methods.totals.totals:Totals.release",
        "rows[1][1], laws[\"records\"])", 'float(exact.records.sensitive_values[0]), laws["records"])',
    ),
    Plant(
        "records beyond the limit weigh as much", "totals", "totals",
        "bounds.values.value_histograms:_weights_of_places",
        "whole > bound.limit", "whole > bound.limit + 1",
    ),
    Plant(
        "people count in all of their groups", "totals", "totals",
        "bounds.values.value_histograms:UserGroups.measure",
        "< self.limit]", "< self.limit + 1]",
    ),
    Plant(
        "a fifth of the spread of ranks is "
        "told", "totals", "totals", "bounds.scores.quantile_scores:_score_single",
        '2 * max(below, denominator - below) * most', '2 * max(below, denominator - below) * most // 5',
    ),
    Plant(
        "one new item of each person is paid for", "totals", "totals", "bounds.linear_maps:count_distinct",
        "Sensitivity.of_l1(measured.sensitivity.l1)", "Sensitivity.of_l1(1)",
    ),
    Plant(
        "a range is found in exact weights", "totals", "totals", "methods.totals.totals:Totals._range",
        'estimate_range(ends, noisy)',
        'estimate_range(ends, replace(noisy, values=engine.measure(log, range_bound(ends), '
        'NO_SECRET).sensitive_values * 20))',
    ),
    Plant(
        "parts with nobody are passed over", "totals", "totals", "methods.totals.quantiles:choose_quantiles",
        'if entry[2].first < entry[2].last]',
        'if entry[2].first < entry[2].last and weights.sensitive_values[entry[0]].sum() > 512]',
    ),
)  # fmt: skip

NEIGHBOURS = (
    Plant(
        "items in departures are chosen by exact weights", "neighbours", "neighbours",
        "methods.recommender.visit_model:VisitModel.measure",
        'model.pairs_bound(',
        'replace(model, weights=Noisy(counted.items.sensitive_values, weights.distribution)).pairs_bound(',
    ),
    Plant(
        "departures are longer than is declared", "neighbours", "neighbours",
        "bounds.ratings.centered_cooccurrence:centered_cooccurrence_sensitivity",
        'of_l2(COOCCURRENCE_NORM,', 'of_l2(COOCCURRENCE_NORM * 7 // 10,',
    ),
    Plant(
        "shares go by the exact number of people", "neighbours", "neighbours",
        "methods.recommender.visit_model:VisitModel.measure",
        'model = _FittedModel(float(user_count.counts[0]), weights)',
        'model = _FittedModel(float(engine.measure(log, Raters(), NO_SECRET).sensitive_values[0]), weights)',
    ),
    Plant(
        "relations are released where there are people enough", "neighbours", "neighbours",
        "methods.recommender.rating_model:RatingModel.measure",
        "self._planned(users, log,",
        f"self._planned(1e9 * float({_USERS} > 15), log,",
    ),
    Plant(
        "factors are made with the exact number of people", "neighbours", "neighbours",
        "methods.recommender.rating_model:RatingModel.measure",
        "support[places], users)",
        f"support[places], float({_USERS}))",
    ),
    Plant(
        "half of the sensitivity of likings is declared", "neighbours", "neighbours",
        "bounds.ratings.factor_gradients:FactorGradients.sensitivity",
        'of_l2(GRADIENT_NORM,', 'of_l2(GRADIENT_NORM * 7 // 10,',
    ),
    Plant(
        "tastes are made with the exact number of people", "neighbours", "neighbours",
        "methods.recommender.rating_model:RatingModel.measure",
        "_factor_gradients(support, places, factors, units)",
        f"_factor_gradients(support, places, factors * float({_USERS}) / 15, units)",
    ),
    Plant(
        "half of the sensitivity of pairs is declared", "neighbours", "neighbours",
        "bounds.ratings.rating_covariance:RatingCovariance.sensitivity",
        'self.limit * FIXED_POINT', 'self.limit * FIXED_POINT // 2',
    ),
    Plant(
        "half of the sensitivity of offsets is declared", "neighbours", "neighbours",
        "bounds.ratings.rating_offsets:RatingOffsets.sensitivity",
        'self.limit * UNITS_PER_STAR', 'self.limit * UNITS_PER_STAR // 2',
    ),
    Plant(
        "items that nobody rated have no offset", "neighbours", "neighbours",
        'methods.recommender.rating_model:RatingModel.measure',
        'model = _FittedModel(units / UNITS_PER_STAR, support)\n',
        'units = units * (engine.measure(log, RatingOffsets(7, norm), NO_SECRET).sensitive_values[1] > 0)\n    '
        'model = _FittedModel(units / UNITS_PER_STAR, support)\n',
    ),
)  # fmt: skip

TAGS = (
    Plant(
        "pairs are measured where exact weights stand out", "tags", "tags", "methods.tags.model:TagModel.measure",
        'exact = engine.measure(tagged, marginals.second_bound(norm), NO_SECRET)',
        'exact = engine.measure(tagged, TagMarginals(norm), NO_SECRET).sensitive_values\n    marginals = replace('
        'marginals, has_pairs=bool((exact[len(tagged.vocabulary.ids) :] > 0).sum() > 9))\n    exact = '
        'engine.measure(tagged, '
        'marginals.second_bound(norm), NO_SECRET)',
    ),
    Plant(
        "weights of many tags are rounded "
        "up", "tags", "tags", "bounds.tags.tag_weights:_weights_by_number",
        "math.isqrt(whole // n) if norm == \"l2\" else whole // n", "math.isqrt(whole // n) + 1",
    ),
    Plant(
        "resources are declared to move nothing", "tags", "tags",
        "bounds.tags.tag_weights:TagMarginals.sensitivity",
        "_unit_length_sensitivity(resources, self.norm)", "Sensitivity(0, 0, 0)",
    ),
    Plant(
        "the number of people is exact", "tags", "tags", "methods.tags.model:TagModel.measure",
        'norm), user_count, grants)',
        'norm), Noisy(engine.measure(tagged, Taggers(), NO_SECRET).sensitive_values, '
        'user_count.distribution), grants)',
    ),
    Plant(
        "topics are of exact tags", "tags", "tags", "methods.tags.model:TagModel.measure",
        'second = add_noise(exact, grants["pairs"], noise)',
        'second = add_noise(exact, grants["pairs"], noise)\n'
        f"    weights = {_TAG_WEIGHTS}\n"
        "    marginals = replace(marginals, tags=marginals.tags * (weights > 0))",
    ),
)  # fmt: skip

QUERIES = (
    Plant(
        "the worst query is taken, not drawn", "queries", "mwem", "methods.queries.mwem:run_mwem_rounds",
        'worst = choose_candidate(scores, grants[f"choose {place}"], noise)',
        'worst = int(scores.sensitive_gaps.argmin()); grants[f"choose {place}"].spend()',
    ),
    Plant(
        "distances are compared without noise", "queries", "pmw",
        "methods.queries.private_multiplicative_weights:Mediator._replies",
        'elif self._test.is_large(take_places(apart, [place])):',
        "elif apart.sensitive_values[place] >= self.threshold and len(self._released) < self.updates:",
    ),
    Plant(
        "updates are never used up", "queries", "sessions", "noise.selection.sparse_vector:SparseVector.is_large",
        "self._left += not large", "self._left += not large or self._left == 0",
    ),
    Plant(
        "the noisy threshold is told", "queries", "pmw",
        "methods.queries.private_multiplicative_weights:Mediator._replies",
        "estimates, replies = queries.sums(self.table), []",
        "self.threshold = self._test._threshold; estimates, replies = queries.sums(self.table), []",
    ),
    Plant(
        "cells that are empty stay empty", "queries", "histogram", "methods.queries.histogram:Histogram.measure",
        "answers = self.queries.sums(noisy.counts)",
        "answers = self.queries.sums(noisy.counts * (cells.sensitive_values > 0))",
    ),
    Plant(
        "what weighs little is found in the cells", "queries", "residuals",
        "methods.queries.inference.unbiased_estimates:estimate_cells",
        'noisy = add_noise(contrasts(cells, shape, weighting.weights, weighting.norm), grant, noise)',
        'noisy = add_noise(contrasts(cells, shape, {some: w + int(cells.sensitive_values.sum() % 2) for some, w '
        'in weighting.weights.items()}, weighting.norm), grant, noise)',
    ),
    Plant(
        "contrasts of long columns are taken to move as their values do", "queries", "residuals",
        "bounds.grid.contrasts:_code_sensitivity", 'if size == 2 or norm == "l1":', "if True:",
    ),
    Plant(
        "tables are chosen by the exact total", "queries", "mwem",
        "methods.queries.inference.multiplicative_weights:measure_start",
        "order = margin_order(grid, total,",
        "order = margin_order(grid, 100.0 * float(cells.sensitive_values.sum() % 2),",
    ),
    Plant(
        "the error is exact", "queries", "mwem", "methods.queries.query_method:measure_error",
        'return AnswerError(float(noisy.counts[0]), noisy.distribution)',
        'return AnswerError(float(quantile(distances(exact, answers), _WITHIN).sensitive_values[0]), '
        'noisy.distribution)',
    ),
    Plant(
        "pairs are taken by exact distances", "queries", "pairs", "methods.queries.pairs:PairCounts._choose_pairs",
        'worthwhile_pairs(noisy.counts, independent, deviations)',
        'worthwhile_pairs(distances.sensitive_values * 1.0, independent, deviations)',
    ),
    Plant(
        "tables side by side are thought to move as "
        "one", "queries", "pairs", "bounds.linear_maps:concatenate_tables",
        'l1=sum(table.l1 for table in sensitivities)', 'l1=max(table.l1 for table in sensitivities)',
    ),
    Plant(
        "pairs that nobody is in are left out", "queries", "pairs", "methods.queries.pairs:PairCounts.measure",
        "counted = dict(zip(pairs, _split_tables(noisy, exact_pairs), strict=True))",
        "counted = {pair: table * (tables[pair].sensitive_values > 0)"
        " for pair, table in zip(pairs, _split_tables(noisy, exact_pairs), strict=True)}",
    ),
)  # fmt: skip


def _released(value: str) -> dict[str, str]:
    """Say where a number becomes a part of release.json."""
    return {
        "where": "run.curator:Curator._run", "old": "description = {", "new": f'description = {{"more": {value}, ',
    }  # fmt: skip


_SOURCE = "ready.log.source"
SOURCES = (
    Plant(
        "the rows of a Parquet footer are released", "sources", "parquet text",
        **_released(f"sum(int({_SOURCE}._open(path).metadata.num_rows) for path in {_SOURCE}.files)"),
    ),
    Plant(
        "the number of row groups is released", "sources", "parquet row groups",
        **_released(f"sum(len({_SOURCE}.row_groups(path)) for path in {_SOURCE}.files)"),
    ),
    Plant("the number of bytes is released", "sources", "jsonl",
          **_released(f"sum(size for size, _ in {_SOURCE}.stamps())")),
    Plant(
        "the size of a dictionary is released", "sources", "table of codes",
        **_released(f"max(len(each.column(0).dictionary) for each in {_SOURCE}.batches([ready.log.roles.item]))"),
    ),
    Plant("the rows that a database knows of are released", "sources", "duckdb", **_released(f"{_SOURCE}.rows")),
    Plant("the range of ids is released", "sources", "parquet typed",
          **_released(f"{_SOURCE}.whole_range('user')")),
    Plant("the records of a store are released", "sources", "csv store", **_released(f"{_SOURCE}.records")),
    Plant(
        "the number of files is said", "sources", "csv files", "cli.charged:spend",
        '_note_assumptions(log)', '_note_assumptions(log); terminal.note(str(len(log.source.files)))',
    ),
    Plant(
        "progress shows how many rows were read", "sources", "arrow stream", "cli.terminal:Bar.__call__",
        "if self._discreet:", "if self._discreet and total is None and not done:",
    ),
    Plant(
        "the ledger notes how many rows there are", "sources", "arrow file", "run.prepare:Prepared.identity",
        '"command": request.command,',
        '"command": request.command, "rows": sum(selection.num_rows for selection in '
        'log.source.batches([log.roles.user])),',
    ),
    Plant(
        "many rows are warned of", "sources", "sqlite", "run.charge:begin_reading", "reservation.data_read()",
        "reservation.data_read()\n"
        "    if sum(each.num_rows for each in log.source.batches([log.roles.user])) > 500:\n"
        "        __import__('warnings').warn('large')",
    ),
    Plant(
        "many batches are too many", "sources", "csv gzip", "events.encode.passes:EncodedLog._prepared",
        "self.tally.rows += raw.num_rows",
        "self.tally.rows += raw.num_rows\n        if self.tally.rows > 500: raise MemoryError",
    ),
)  # fmt: skip
"""Whatever a file or database says of all its rows at once is no one's to release."""

SILENCE = (
    Plant(
        "a ledger in the environment is overlooked", "commands", "environment", "cli.charged:spend",
        "if charging is None:  # an analyst is told nothing but the release", 'if flags["ledger"] is None:',
    ),
    Plant(
        "a ledger in a configuration file is overlooked", "commands", "config", "cli.charged:spend",
        "if charging is None:  # an analyst is told nothing but the release",
        'if charging is None or click.get_current_context().get_parameter_source("ledger").name == "DEFAULT_MAP":',
    ),
    Plant(
        "the seconds of a charged run are printed", "commands", "flag", "cli.charged:spend",
        "Charged(release, target, charging,", "Charged(release, target, None,",
    ),
    Plant(
        "Python warns of dropped records", "python", "warnings", "run.curator:Curator.run",
        'release = replace(withhold_errors(lambda: self._run(ready)), created=begun)',
        "release = replace(withhold_errors(lambda: self._run(ready)), created=begun)\n    "
        "__import__('warnings').warn(f'{self.engine.tally.outside_catalogue} records were dropped')",
    ),
    Plant(
        "Python logs dropped records", "python", "logging", "run.curator:Curator.run",
        'release = replace(withhold_errors(lambda: self._run(ready)), created=begun)',
        "release = replace(withhold_errors(lambda: self._run(ready)), created=begun)\n    "
        "__import__('logging').getLogger('headcount').info('dropped: %s', self.engine.tally.nulls)",
    ),
    Plant(
        "a job of the studio says how many records were dropped", "studio", "outcome", "studio.jobs.tasks:release",
        '"payer": payer}', '"payer": payer, "dropped": curator.engine.tally.outside_catalogue}',
    ),
)  # fmt: skip
"""Text that depends on content, under a ledger: ``test_silence.py`` must see each, by what ``family`` runs."""

PLANTS = (*ISSUE, *COUNTS, *RANKINGS, *SELECTION, *TOTALS, *NEIGHBOURS, *TAGS, *QUERIES, *SOURCES)
