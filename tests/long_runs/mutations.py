"""The places of a module where a small change must make a test fail."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# Without them, the program is the same on a machine with UTF-8, slower, or less strictly typed.
IRRELEVANT_ARGUMENTS = (
    *("bound", "daemon", "encoding", "frozen", "kw_only", "maxsize", "slots", "strict"),
    *("description", "summary"),  # wording
)
LOGGING = ("debug", "info", "warning", "error", "exception")
MAX_LABEL = 70


class Change(NamedTuple):
    kind: str
    node: ast.expr | ast.stmt
    after: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one file. Its text names it without line numbers, which other changes move."""

    path: str
    kind: str
    scope: str
    label: str
    begin: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path} {self.scope}: {self.label}"

    def apply(self, text: str) -> str:
        """The text of the file with the change."""
        content = text.encode()
        assert content[self.begin : self.end] == self.before.encode(), self
        return (content[: self.begin] + self.after.encode() + content[self.end :]).decode()


def mutants_of(path: str, text: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    collector = _Collector()
    collector.visit(ast.parse(text))
    content = text.encode()
    starts = list(accumulate((len(line) for line in content.splitlines(True)), initial=0))
    mutants = []
    seen: Counter[tuple[str, str]] = Counter()
    for scope, change in collector.changes:
        node = change.node
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = content[begin:end].decode()
        label = f"{_short(before)} -> {_short(change.after)}"
        if change.kind == "argument dropped":
            label = f"{_short(before.partition('(')[0])}(…) without {change.detail}"
        seen[scope, label] += 1
        mutant = Mutant(
            path=path,
            kind=change.kind,
            scope=scope,
            label=label if seen[scope, label] == 1 else f"{label} (place {seen[scope, label]})",
            begin=begin,
            end=end,
            before=before,
            after=change.after,
        )
        mutants.append(mutant)
    return mutants


def changes(node: ast.AST) -> Iterator[Change]:
    """The changes of one node, without those of the nodes in it."""
    match node:
        case ast.Compare(left, operators, right):
            for i, operator in enumerate(operators):
                changed = [*operators[:i], COMPARISONS[type(operator)](), *operators[i + 1 :]]
                yield _replaced("comparison", node, ast.Compare(left, changed, right))
        case ast.BoolOp(operator, values):
            exchanged = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield _replaced("and, or", node, ast.BoolOp(exchanged, values))
        case ast.UnaryOp(ast.Not(), operand):
            yield _replaced("not removed", node, operand)
        case ast.Constant(bool() | int() as value):
            for other in (not value,) if isinstance(value, bool) else (value + 1, value - 1):
                yield _replaced("constant", node, ast.Constant(other))
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            yield Change("return value", node, "return None")
        case ast.Expr(ast.Call() | ast.Await(ast.Call()) as call) if not _is_log(call):
            yield Change("call removed", node, "pass")
        case ast.Call():
            yield from _calls_with_one_argument_less(node)


def _calls_with_one_argument_less(call: ast.Call) -> Iterator[Change]:
    for i, keyword in enumerate(call.keywords):
        if keyword.arg and keyword.arg not in IRRELEVANT_ARGUMENTS:
            others = call.keywords[:i] + call.keywords[i + 1 :]
            after = ast.unparse(ast.Call(call.func, call.args, others))
            yield Change("argument dropped", call, after, keyword.arg)


def _replaced(kind: str, node: ast.expr, other: ast.expr) -> Change:
    return Change(kind, node, f"({ast.unparse(other)})")


def _short(code: str) -> str:
    code = " ".join(code.split())
    return code if len(code) <= MAX_LABEL else f"{code[:MAX_LABEL]}…"


def _is_log(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in LOGGING
    )


def _is_call_of(value: ast.expr, name: str) -> bool:
    return (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == name
    )


class _Collector(ast.NodeVisitor):
    """Visits what is neither a type, a docstring, an assertion, nor the text of a message."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, Change]] = []
        self._scope: list[str] = []
        self._in_function = False

    def visit(self, node: ast.AST) -> None:
        self._add(*changes(node))
        # A word in a table; a text of several words is wording.
        match node:
            case ast.Constant(str() as word) if word.split() == [word] and not self._in_function:
                self._add(Change("word in a table", node, repr(f"{word}x")))
        super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for outside in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if outside:
                self.visit(outside)
        was_in_function, self._in_function = self._in_function, True
        self._visit_body(node.name, node.body)
        self._in_function = was_in_function

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        # Those of `dataclass` say how a value is stored.
        for decorator in node.decorator_list:
            if not _is_call_of(decorator, "dataclass"):
                self.visit(decorator)
        self._visit_body(node.name, node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        # `__all__`, `__slots__` and variables of types are no behaviour.
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if not _is_call_of(node.value, "TypeVar") and not "".join(names).startswith("__"):
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant) and not _is_log(node.value):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Python 3.11 has no exact places in it."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """States what cannot be."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        if self._in_function:
            self.visit(node.slice)

    def _visit_body(self, name: str, body: list[ast.stmt]) -> None:
        self._scope.append(name)
        for statement in body:
            self.visit(statement)
        self._scope.pop()

    def _add(self, *changes: Change) -> None:
        self.changes += [(".".join(self._scope) or "module", change) for change in changes]
