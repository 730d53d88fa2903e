"""Whether an experiment can run at all: every model, planner and filter is made once, before anything runs."""

from __future__ import annotations

from airoas import catalog
from airoas.belief.filters.exact import ExactFilter, can_update
from airoas.belief.filters.update import make_filter
from airoas.errors import AiroasError, OptionError
from airoas.experiments.run.play import find_domain, with_tuples
from airoas.experiments.spec.cells import Cell, Spec


def check_fit(spec: Spec, source: str) -> None:
    """Refuse options out of range, filters that a domain does not have, and planners that do not fit a domain."""
    for cell in spec.cells:
        for where, check in ((f"domains.{cell.domain}", _check_domain), (f"planners.{cell.planner} on {cell.domain}", _check_planner)):
            try:
                check(spec, cell)
            except AiroasError as error:
                if source and not error.where:
                    error.where = f"{source}, {where}"
                raise


def _check_domain(spec: Spec, cell: Cell) -> None:
    model = find_domain(spec.locate(cell.domain))(cell.seeds[0])
    filter = make_filter(catalog.find_filter(spec.locate(cell.filter)), model)
    if isinstance(filter, ExactFilter) and not can_update(model):
        remedy = "leave filter (--filter) out; `exact` needs `exact_initial`, and `exact_update` or the enumeration group."
        raise OptionError(f"{cell.domain} has no exact filter", remedy)


def _check_planner(spec: Spec, cell: Cell) -> None:
    try:
        planner = catalog.make_planner(spec.locate(cell.kind), with_tuples(cell.options))
    except AiroasError:
        raise
    except Exception as error:
        options = ", ".join(f"{key}={value!r}" for key, value in cell.options.items())
        raise OptionError(f"{cell.kind} refuses {options} ({type(error).__name__}: {error})", "correct the options.") from None
    if hasattr(planner, "fits"):
        problem = planner.fits(find_domain(spec.locate(cell.domain))(cell.seeds[0]))
        if problem:
            raise OptionError(f"{cell.kind} does not fit {cell.domain}: {problem}", "leave that planner or that domain out.")
