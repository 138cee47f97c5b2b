"""Avro schemas as far as generate.py understands them, read from a directory with an ids.txt."""
import itertools
import json
import re
from dataclasses import dataclass, field

PRIMITIVES = ("boolean", "int", "long", "string", "bytes")
REQUIRED = object()  # the default of a field that has none


class SchemaError(Exception):
    pass


# The schemas, parsed. Equal means: the same bytes mean the same.


@dataclass(frozen=True)
class Primitive:
    name: str


@dataclass(frozen=True)
class Enum:
    name: str
    symbols: tuple
    default: object = field(compare=False)


@dataclass(frozen=True)
class Field:
    name: str
    type: object
    default: object = field(compare=False)


@dataclass(frozen=True)
class Record:
    name: str
    fields: tuple

    def field(self, name):
        return next((f for f in self.fields if f.name == name), None)


@dataclass(frozen=True)
class Array:
    items: object


@dataclass(frozen=True)
class Union:
    branches: tuple

    def branch(self, name):
        return next((i for i, b in enumerate(self.branches) if b.name == name), None)


@dataclass(frozen=True)
class Range:
    """A line of ranges.txt."""

    least: int
    greatest: int


@dataclass(frozen=True)
class Version:
    """One line of ids.txt."""

    id: int
    record: str
    number: int
    type: Record
    text: str
    names: tuple  # of all types that it defines


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", name).lower()


def spell(type_):
    """The type's name, for people."""
    if isinstance(type_, Array):
        return f"array of {spell(type_.items)}"
    return "union" if isinstance(type_, Union) else type_.name


def refuse_unknown(node, *known):
    unknown = set(node) - set(known) - {"type", "name", "doc"}
    if unknown:
        raise SchemaError(f"{node.get('name', node['type'])}: {', '.join(sorted(unknown))} is not supported")


def parse(node, named):
    if isinstance(node, list):
        if not all(isinstance(branch, dict) and branch["type"] == "record" for branch in node):
            raise SchemaError("a union may hold records only, and defines them")
        return Union(tuple(parse(branch, named) for branch in node))
    if isinstance(node, str):
        if node in PRIMITIVES:
            return Primitive(node)
        if node in named:
            return named[node]
        raise SchemaError(f"type {node} is not supported")
    if node["type"] == "record":
        refuse_unknown(node, "namespace", "fields")
        result = Record(node["name"], tuple(parse_field(f, named) for f in node["fields"]))
        if min_size(result) == 0:
            raise SchemaError(f"{result.name} has no fields")
    elif node["type"] == "enum":
        refuse_unknown(node, "namespace", "symbols", "default")
        result = Enum(node["name"], tuple(node["symbols"]), node.get("default"))
    elif node["type"] == "array":
        refuse_unknown(node, "items")
        return Array(parse(node["items"], named))
    else:
        refuse_unknown(node, "logicalType")
        return parse(node["type"], named)
    if result.name in named:
        raise SchemaError(f"{result.name} is defined twice")
    named[result.name] = result
    return result


def parse_field(node, named):
    refuse_unknown(node, "default")
    return Field(node["name"], parse(node["type"], named), node.get("default", REQUIRED))


def read_versions(folder):
    versions = []
    for line in (folder / "ids.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        number, record, version = line.split()
        path = folder / f"{record}-v{version}.avsc"
        try:
            schema = json.loads(path.read_text())
            named = {}
            versions.append(Version(int(number), record, int(version), parse(schema, named),
                                    json.dumps(schema, separators=(",", ":")), tuple(named)))
        except (SchemaError, ValueError, KeyError) as error:
            raise SchemaError(f"{path}: {error}") from error
        if snake(versions[-1].type.name) != snake(record):
            raise SchemaError(f"{path}: the record is called {versions[-1].type.name}")
        if versions[-1].number != sum(v.record == record for v in versions):
            raise SchemaError(f"ids.txt: the versions of {record} are not 1, 2, 3, ... in this order")
    if any(later.id <= earlier.id for earlier, later in itertools.pairwise(versions)):
        raise SchemaError("ids.txt: each id must be higher than the one before")
    refuse_namesakes(versions)
    strangers = {p.name for p in folder.glob("*.avsc")} - {f"{v.record}-v{v.number}.avsc" for v in versions}
    if strangers:
        raise SchemaError(f"ids.txt: no id for {', '.join(sorted(strangers))}")
    return versions


class Ranges:
    """FOLDER/ranges.txt: what fields may have. Without that file, anything."""

    def __init__(self, folder):
        self.path = folder / "ranges.txt"
        self.by_name = {}  # field, RECORD.FIELD or RECORD: its Range, or None: any value
        self.unused = set()
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            if not line.strip() or line.startswith("#"):
                continue
            least, greatest, *names = line.split()
            for name in names:
                if name in self.by_name:
                    raise SchemaError(f"{self.path}: {name} stands there twice")
                self.by_name[name] = None if least == "*" else Range(int(least), int(greatest))
        self.unused = set(self.by_name)

    def of(self, record, field):
        """None: any value."""
        if not self.by_name or not has_numbers(field.type):
            return None
        for name in f"{record.name}.{field.name}", record.name, field.name:
            if name in self.by_name:
                self.unused.discard(name)
                return self.by_name[name]
        raise SchemaError(f"{self.path}: no range for {record.name}.{field.name}")

    def of_all(self, type_):
        """Of each field in the type, which somebody reads by hand."""
        for f in type_.fields if isinstance(type_, Record) else []:
            self.of(type_, f)
            self.of_all(f.type)
        if isinstance(type_, Array):
            self.of_all(type_.items)
        for branch in type_.branches if isinstance(type_, Union) else []:
            self.of_all(branch)

    def refuse_unused(self):
        if self.unused:
            raise SchemaError(f"{self.path}: no field is called {', '.join(sorted(self.unused))}")


def has_numbers(type_):
    return has_numbers(type_.items) if isinstance(type_, Array) else type_ in (Primitive("int"), Primitive("long"))


def refuse_namesakes(versions):
    """C has one namespace: a type that becomes a struct is defined by one record only."""
    homes = {}
    for version in {v.record: v for v in versions if not is_batch(v.type)}.values():
        for name in version.names:
            if homes.setdefault(snake(name), version.record) != version.record:
                raise SchemaError(f"{version.record}-v{version.number}.avsc: {name} is defined by "
                                  f"{homes[snake(name)]} too")


def is_batch(record):
    return record.name.endswith("Batch")


def is_union(record):
    return len(record.fields) == 1 and isinstance(record.fields[0].type, Union)


def min_size(type_):
    """The fewest bytes that a value takes."""
    if isinstance(type_, Record):
        return sum(min_size(f.type) for f in type_.fields)
    if isinstance(type_, Union):
        return 1 + min(min_size(branch) for branch in type_.branches)
    return 1
