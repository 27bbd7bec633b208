"""YAML as lessons use it: small, without aliases, with 7e9 read as a number and dates left as text."""

import re
from dataclasses import dataclass
from typing import Any

import yaml

_NOT_FOR_FAST = re.compile(r"(?<![\w)\]])[&*]|[\t\0]")  # what could be an anchor or an alias; tabs
LONGEST = 20_000  # characters; an item comment has a few hundred


@dataclass(frozen=True, slots=True)
class YamlError:
    """Why a text is not YAML, and on which of its lines (0-based)."""

    message: str
    line: int


class _Loader(yaml.SafeLoader):
    """Safe, 7e9 is a float, 2026-01-01 and 1:30 are text, aliases are refused."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that stands twice."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value} stands twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
        return yaml.SafeLoader.construct_mapping(self, node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, regexp)
        for tag, regexp in resolvers
        if tag.rsplit(":", 1)[1] not in {"timestamp", "int", "float"}
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?\d+"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?"),
    list("-+.0123456789"),
)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, re.compile(rf"(?:{regexp.pattern})\Z", regexp.flags)) for tag, regexp in resolvers]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}
_Loader.add_constructor(
    "tag:yaml.org,2002:int", lambda _, node: int(node.value) if len(node.value) < 40 else float(node.value)
)
_Loader.add_constructor("tag:yaml.org,2002:float", lambda _, node: float(node.value))


class _FastLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same on libyaml, ten times as fast. It cannot refuse aliases, so it is not given any."""

    construct_mapping = _Loader.construct_mapping


_FastLoader.yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers
_FastLoader.yaml_constructors = _Loader.yaml_constructors


def read_yaml(text: str, *, fast: bool = False) -> Any | YamlError:
    """The value of a YAML text, or why there is none. Never raises.

    fast: for comments, of which a course has thousands. What the fast reader refuses is read again by the
    other one, for its better messages.
    """
    if fast and len(text) <= LONGEST and not _NOT_FOR_FAST.search(text):
        try:
            return yaml.load(text, Loader=_FastLoader)
        except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError):
            pass
    if len(text) > LONGEST:
        return YamlError(f"is longer than {LONGEST:,} characters", 0)
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        problem = str(error.problem or error.context or "is not valid YAML")
        if "flow" in str(error.context) and error.context_mark and problem.startswith("expected"):
            problem = "what opens here with [ or { is not closed, or a text in it that has : needs quotes"
            return YamlError(problem, error.context_mark.line)
        mark = error.problem_mark or error.context_mark
        return YamlError(problem, mark.line if mark else 0)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError) as error:
        return YamlError(str(error).splitlines()[0] if str(error) else "is nested too deep", 0)
