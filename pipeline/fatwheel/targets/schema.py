"""How records hold targets and capabilities: as objects in Python, as text (``9.0a``) in JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from fatwheel.errors import UsageError

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

Value = TypeVar("Value")


def text_schema(kind: type[Value], parse: Callable[[str], Value]) -> CoreSchema:
    """The pydantic schema of a type that ``parse`` reads from text and ``str`` writes.

    An instance is accepted as it is. Text that ``parse`` refuses with `UsageError` is a validation error.
    """
    from pydantic_core import core_schema  # only where a record is read or written

    def read(value: object) -> Value:
        if isinstance(value, kind):
            return value
        if not isinstance(value, str):
            raise ValueError("not text")  # noqa: TRY004 - pydantic reports ValueError
        try:
            return parse(value)
        except UsageError as error:
            raise ValueError(error.what) from None

    return core_schema.no_info_before_validator_function(
        read,
        core_schema.is_instance_schema(kind),
        serialization=core_schema.to_string_ser_schema(),
    )
