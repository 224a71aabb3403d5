"""Write the types of methods' own options from the methods: ``python tools/option_types.py [--check]``.

They make ``src/headcount/api/option_types.py``, by which type checkers and editors know the keywords that
functions hand on to a method.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from headcount.methods.family import Family, fields_of
from headcount.methods.registry import FAMILIES

TARGET = Path(__file__).parents[1] / "src" / "headcount" / "api/option_types.py"
_HEAD = '''"""The options of methods, as keywords: ``tools/option_types.py`` writes them from the methods."""

from __future__ import annotations

from typing import Any, Literal, TypedDict
'''
_PLAIN = (bool, int, float, str)


def written() -> str:
    """Return the module: a type for each family whose request takes options."""
    kinds = [family for family in FAMILIES.values() if "options" in family.request_kind().model_fields]
    families = {
        class_name(family): family for family in reversed(kinds)
    }  # of families with one request, the first
    return _HEAD + "".join(f"\n\n{_class(name, families[name])}" for name in reversed(families))


def class_name(family: Family) -> str:
    """Return what the type is called: by the request."""
    return str(family.request_kind().__name__).removesuffix("Request") + "Options"


def _class(name: str, family: Family) -> str:
    fields = family.request_kind().model_fields
    types_by_option: dict[str, dict[str, list[str]]] = {}
    for method, kind in family.kinds().items():
        hints = get_type_hints(kind)
        for option in fields_of(kind):
            if option not in fields and option != "asked":
                types_by_option.setdefault(option, {}).setdefault(_type(hints[option]), []).append(method)
    lines = [f"class {name}(TypedDict, total=False):", f'    """Options of the methods of {family.name}.', ""]
    for option, ways in sorted(types_by_option.items()):
        lines.append(
            f"    {option}: of {', '.join(sorted(label for methods in ways.values() for label in methods))}"
        )
    lines += ['    """', ""]
    lines += [f"    {option}: {' | '.join(sorted(ways))}" for option, ways in sorted(types_by_option.items())]
    return "\n".join(lines) + "\n"


def _type(kind: Any) -> str:
    """Write a type; one that is none of Python's own may be anything."""
    if kind in _PLAIN:
        return str(kind.__name__)
    if get_origin(kind) is Literal:
        return "Literal[" + ", ".join(f'"{value}"' for value in get_args(kind)) + "]"
    if get_origin(kind) in (Union, types.UnionType):
        parts = [argument for argument in get_args(kind) if argument is not type(None)]
        type_texts = sorted({_type(part) for part in parts})
        return (
            "Any"
            if "Any" in type_texts
            else " | ".join([*type_texts, *(["None"] if type(None) in get_args(kind) else [])])
        )
    return "Any"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(TARGET.read_text(encoding="utf-8") != written())
    TARGET.write_text(written(), encoding="utf-8")
