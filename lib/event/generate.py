#!/usr/bin/env python3
"""Record codecs in C from a directory of Avro schemas.

    generate.py --out-dir DIR SCHEMAS

SCHEMAS/ids.txt lists `id record version`, SCHEMAS/RECORD-vVERSION.avsc is the schema of each. The highest version of a
record becomes a struct with a reader and a writer; every older version gets a reader into that same struct by Avro's
rules of schema resolution, worked out here, so that a version that could not be read stops the build. DIR/records.h and
DIR/records.c are the result; what they hold is described in event/codec.h. Readers refuse values that SCHEMAS/ranges.txt,
if it is there, does not allow.

A union must be the only field of a top-level record: its struct is a kind and a C union of the branches.

A top-level record NAMEBatch is written and read by hand, an item at a time (lib/deliver): only find_end is made of it.
"""
import argparse
import json
import sys
from pathlib import Path

from schemas import (REQUIRED, Array, Enum, Primitive, Ranges, Record, SchemaError, Union, is_batch, is_union,
                     min_size, read_versions, snake, spell)

LONGEST_VARINT = 10
C_PRIMITIVES = {"boolean": "bool", "int": "int32_t", "long": "int64_t", "string": "struct event_text",
                "bytes": "struct event_bytes"}
ARRAYS = {Primitive("long"): "event_longs", Primitive("string"): "event_texts"}  # event/types.h has them
PROMOTIONS = {("int", "long"): "wire_get_int_as_long"}


def base_name(type_):
    """What the type's functions are called: NAME_read, NAME_write, NAME_vN_skip."""
    if isinstance(type_, Array):
        return ARRAYS.get(type_.items) or base_name(type_.items) + "s"
    return snake(type_.name)


def member_name(record, branch):
    """The name of a branch within its union: TimelinePush of TimelineItem is `push`, as C has one namespace for structs."""
    return base_name(branch).removeprefix(base_name(record).partition("_")[0] + "_")


def c_type(type_):
    if isinstance(type_, Primitive):
        return C_PRIMITIVES[type_.name]
    return ("enum " if isinstance(type_, Enum) else "struct ") + base_name(type_)


def c_string(text):
    """A C string literal; octal for what is not plain, and for ? because of trigraphs."""
    escapes = {ord('"'): '\\"', ord("\\"): "\\\\"}
    plain = (chr(b) if 32 <= b < 127 and b != ord("?") else f"\\{b:03o}" for b in text.encode())
    return '"' + "".join(escapes.get(b, c) for b, c in zip(text.encode(), plain)) + '"'


def c_long(number):
    return "INT64_MIN" if number == -2**63 else f"INT64_C({number})"


class Generator:
    def __init__(self, versions, ranges, module):
        self.versions = versions
        self.ranges = ranges
        self.module = module
        self.header = []
        self.source = []
        self.made = set()
        self.records = []  # all but batches: (record, the name of its struct)
        self.top = None  # the version whose types are being written

    # Helpers

    def once(self, name):
        """True when asked for the first time."""
        new = name not in self.made
        self.made.add(name)
        return new

    def function(self, head, body, public=False):
        """A function with its declaration: in the header when public, none when static."""
        if public:
            self.header.append(f"{head};\n")
        self.source.append(f"{'' if public else 'static '}{head}\n{{\n{body}}}\n")

    # Types of the newest version: declarations and writers

    def declare(self, type_):
        if isinstance(type_, Primitive) or (isinstance(type_, Array) and type_.items in ARRAYS):
            return
        if isinstance(type_, Array):
            if not isinstance(type_.items, Record):
                raise SchemaError(f"{self.top.type.name}: this array is not supported")
            if not self.once(f"declare {base_name(type_)}"):
                return
            self.declare(type_.items)
            self.header.append(f"struct {base_name(type_)} {{\n    const {c_type(type_.items)} *items;\n"
                               "    size_t count;\n};\n")
            return
        if not self.once(f"declare {base_name(type_)}"):
            return
        if isinstance(type_, Enum):
            prefix = snake(self.top.type.name).upper()
            symbols = "".join(f"    {prefix}_{s},\n" for s in type_.symbols)
            self.header.append(f"enum {base_name(type_)} {{\n{symbols}}};\n")
        elif is_union(type_) and type_ is self.top.type:
            self.declare_union(type_)
        else:
            self.declare_record(type_)

    def declare_record(self, record):
        for f in record.fields:
            if isinstance(f.type, Union):
                raise SchemaError(f"{record.name}.{f.name}: a union must be the only field of a top-level record")
            self.declare(f.type)
        name = base_name(record)
        members = "".join(f"    {c_type(f.type)} {f.name};\n" for f in record.fields)
        self.header.append(f"struct {name} {{\n{members}}};\n")
        size_max = self.size_max(record, "record->")
        if size_max.isdigit():
            self.header.append(f"enum {{ {name.upper()}_SIZE_MAX = {size_max} }};\n")
        self.header.append(f"static inline size_t {name}_size_max(const struct {name} *record)\n{{\n"
                           f"    return {size_max};\n}}\n")
        puts = "".join(f"    at = {self.put(f.type, f'record->{f.name}')};\n" for f in record.fields)
        self.function(f"uint8_t *{name}_write(uint8_t *at, const struct {name} *record)",
                      f"{puts}    return at;\n", public=True)

    def size_max(self, record, path):
        """A C expression: the bytes that the record, whose fields are at path, takes at most."""
        constant, terms = 0, []
        for f in record.fields:
            if isinstance(f.type, Record):
                terms.append(self.size_max(f.type, f"{path}{f.name}."))
                continue
            constant += {Primitive("boolean"): 1, Primitive("int"): 5}.get(f.type, LONGEST_VARINT)
            if f.type in (Primitive("string"), Primitive("bytes")):
                terms.append(f"{path}{f.name}.size")
            elif f.type == Array(Primitive("string")):
                terms.append(f"event_texts_size_max(&{path}{f.name})")
                constant += 1  # the array's end
            elif isinstance(f.type, Array):
                item = f.type.items
                each = str(LONGEST_VARINT) if isinstance(item, Primitive) else self.size_max(item, None)
                terms.append(f"{path}{f.name}.count * {each}")
                constant += 1  # the array's end
        if path is None and terms:
            raise SchemaError(f"{record.name}: an array's items must be of a bounded size")
        return " + ".join([str(constant), *terms])

    def put(self, type_, value):
        if isinstance(type_, Primitive):
            return f"wire_put_{type_.name}(at, {value})"
        if isinstance(type_, Enum):
            return f"wire_put_long(at, (int64_t){value})"
        if isinstance(type_, Array) and self.once(f"write {base_name(type_)}"):
            item = type_.items
            put = self.put(item, "array->items[i]")
            self.function(f"uint8_t *{base_name(type_)}_write(uint8_t *at, const {c_type(type_)} *array)",
                          "    if (array->count > 0)\n        at = wire_put_long(at, (int64_t)array->count);\n"
                          f"    for (size_t i = 0; i < array->count; i++)\n        at = {put};\n"
                          "    return wire_put_long(at, 0);\n")
        return f"{base_name(type_)}_write(at, &{value})"

    def declare_union(self, record):
        name = base_name(record)
        for branch in record.fields[0].type.branches:
            self.declare(branch)
        branches = [(base_name(b), member_name(record, b)) for b in record.fields[0].type.branches]
        kinds = "".join(f"    {name.upper()}_{member.upper()},\n" for _, member in branches)
        members = "".join(f"        struct {n} {member};\n" for n, member in branches)
        self.header.append(f"enum {name}_kind {{\n{kinds}}};\n")
        self.header.append(f"struct {name} {{\n    enum {name}_kind kind;\n    union {{\n{members}    }};\n}};\n")
        for function, head, otherwise, call in (
            ("size_max", f"size_t {name}_size_max(const struct {name} *record)", "0",
             f"{LONGEST_VARINT} + {{0}}_size_max(&record->{{1}})"),
            ("write", f"uint8_t *{name}_write(uint8_t *at, const struct {name} *record)", "at",
             "{0}_write(at, &record->{1})"),
        ):
            cases = "".join(f"    case {name.upper()}_{member.upper()}: return {call.format(n, member)};\n"
                            for n, member in branches)
            put_kind = "    at = wire_put_long(at, (int64_t)record->kind);\n" if function == "write" else ""
            self.function(head, f"{put_kind}    switch (record->kind) {{\n{cases}    }}\n    return {otherwise};\n",
                          public=True)

    # Readers: of bytes in the writer's schema into the struct of the reader's

    def suffix(self, writer, reader):
        return "" if writer == reader else f"_v{self.top.number}"

    def get(self, writer, reader, target, allowed=None):
        """A C expression that reads a value into target, a pointer, and is NULL when it is malformed or not allowed."""
        if isinstance(writer, Primitive) and isinstance(reader, Primitive):
            same = f"wire_get_{reader.name}" if writer == reader else None
            function = PROMOTIONS.get((writer.name, reader.name), same)
            if not function:
                raise self.incompatible(f"{spell(writer)} became {spell(reader)}")
            if allowed:
                return f"{function}_within(at, end, {target}, {c_long(allowed.least)}, {c_long(allowed.greatest)})"
            return f"{function}(at, end, {target})"
        if type(writer) is not type(reader):
            raise self.incompatible(f"{spell(writer)} became {spell(reader)}")
        if not isinstance(writer, Array) and writer.name != reader.name:
            raise self.incompatible(f"{writer.name} became {reader.name}")
        name = base_name(reader) + self.suffix(writer, reader)
        if allowed:
            name += f"_to_{allowed.greatest}" + (f"_from_{-allowed.least}" if allowed.least else "")
        if self.once(f"read {name}"):
            make = {Enum: self.make_enum_reader, Record: self.make_record_reader}
            if isinstance(reader, Array):
                self.make_array_reader(writer, reader, name, allowed)
            elif isinstance(reader, Record) and is_union(reader):
                self.make_union_reader(writer, reader, name)
            else:
                make[type(reader)](writer, reader, name)
        scratch = "" if isinstance(reader, Enum) else ", scratch"
        return f"{name}_read(at, end, {target}{scratch})"

    def incompatible(self, why):
        return SchemaError(f"{self.top.record}: version {self.top.number} could not be read any more: {why}")

    def make_enum_reader(self, writer, reader, name):
        lines = [f"    unsigned index;\n    at = wire_get_index(at, end, {len(writer.symbols)}, &index);\n"]
        value = f"(enum {base_name(reader)})index"
        if writer != reader:
            lost = [s for s in writer.symbols if s not in reader.symbols]
            if lost and reader.default is None:
                raise self.incompatible(f"{reader.name} has lost {', '.join(lost)} and has no default")
            symbols = [reader.default if s in lost else s for s in writer.symbols]
            numbers = ", ".join(str(reader.symbols.index(s)) for s in symbols)
            lines.insert(0, f"    static const uint8_t now[] = {{{numbers}}};\n")
            value = f"(enum {base_name(reader)})now[index]"
        lines.append(f"    if (at)\n        *value = {value};\n    return at;\n")
        self.function(f"const uint8_t *{name}_read(const uint8_t *at, const uint8_t *end, "
                      f"enum {base_name(reader)} *value)", "".join(lines))

    def make_array_reader(self, writer, reader, name, allowed):
        item = c_type(reader.items)
        get = self.get(writer.items, reader.items, "&items[count]", allowed)
        self.function(
            f"const uint8_t *{name}_read(const uint8_t *at, const uint8_t *end, {c_type(reader)} *array, "
            "struct codec *scratch)",
            f"    {item} *items = NULL;\n    size_t count = 0, capacity = 0, block;\n"
            f"    while ((at = wire_get_block(at, end, {min_size(writer.items)}, &block)) && block > 0) {{\n"
            "        if (count + block > capacity) {\n"
            "            capacity = count + block > 2 * capacity ? count + block : 2 * capacity;\n"
            "            items = wire_scratch_grow(scratch, items, count * sizeof *items, capacity * sizeof *items);\n"
            "        }\n"
            "        for (; block > 0; block--, count++) {\n"
            f"            at = {get};\n            if (!at)\n                return NULL;\n"
            "        }\n    }\n"
            f"    *array = ({c_type(reader)}){{.items = items, .count = count}};\n    return at;\n")

    def make_record_reader(self, writer, reader, name):
        top = reader is self.newest(self.top.record).type
        steps = []
        for f in writer.fields:
            target = reader.field(f.name)
            if target:
                steps.append(self.get(f.type, target.type, f"&record->{f.name}", self.ranges.of(reader, target)))
            else:
                steps.append(self.skip(f.type))
        defaults = "".join(f"    record->{f.name} = {self.default(reader, f)};\n"
                           for f in reader.fields if not writer.field(f.name))
        body = "".join(f"    if (!(at = {step}))\n        return NULL;\n" for step in steps)
        self.function(f"const uint8_t *{name}_read(const uint8_t *at, const uint8_t *end, "
                      f"struct {base_name(reader)} *record, struct codec *scratch)",
                      f"{defaults}{body}    return at;\n", public=top and writer == reader)

    def default(self, record, f):
        if f.default is REQUIRED:
            raise self.incompatible(f"{record.name}.{f.name} is new and has no default")
        if isinstance(f.type, Enum):
            return f"(enum {base_name(f.type)}){f.type.symbols.index(f.default)}"
        if isinstance(f.type, Array) and f.default == []:
            return f"({c_type(f.type)}){{.items = NULL}}"
        if f.type == Primitive("string"):
            return f"(struct event_text){{.data = {c_string(f.default)}, .size = {len(f.default.encode())}}}"
        if isinstance(f.type, Primitive) and f.type.name != "bytes":
            return c_long(f.default) if f.type.name == "long" else json.dumps(f.default)
        raise SchemaError(f"{record.name}.{f.name}: this default is not supported")

    def make_union_reader(self, writer, reader, name):
        if not is_union(writer):
            raise self.incompatible(f"{reader.name} became a union")
        union, cases = reader.fields[0].type, []
        for i, branch in enumerate(writer.fields[0].type.branches):
            now = union.branch(branch.name)
            if now is None:
                raise self.incompatible(f"{branch.name} is gone")
            member = member_name(reader, branch)
            get = self.get(branch, union.branches[now], f"&record->{member}")
            cases.append(f"    case {i}:\n        record->kind = {base_name(reader).upper()}_{member.upper()};\n"
                         f"        return {get};\n")
        self.function(f"const uint8_t *{name}_read(const uint8_t *at, const uint8_t *end, "
                      f"struct {base_name(reader)} *record, struct codec *scratch)",
                      self.switch_on_branch(writer.fields[0].type, cases), public=writer == reader)

    def switch_on_branch(self, union, cases):
        return (f"    unsigned index;\n    at = wire_get_index(at, end, {len(union.branches)}, &index);\n"
                "    if (!at)\n        return NULL;\n"
                f"    switch (index) {{\n{''.join(cases)}    }}\n    return NULL;\n")

    # Skippers

    def skip(self, type_):
        if isinstance(type_, Primitive):
            return f"wire_skip_{type_.name}(at, end)"
        if isinstance(type_, Enum):
            return f"wire_skip_index(at, end, {len(type_.symbols)})"
        name = self.skip_name(type_)
        if self.once(name):
            self.function(f"const uint8_t *{name}(const uint8_t *at, const uint8_t *end)", self.skip_body(type_))
        return f"{name}(at, end)"

    def skip_name(self, type_):
        """Older versions may call things as other records do: the version's name is part of theirs."""
        version = f"{snake(self.top.record)}_v{self.top.number}"
        if type_ is self.top.type:
            return f"{version}_skip"
        if isinstance(type_, Union):
            return f"{version}_union_skip"
        if isinstance(type_, Array):
            if isinstance(type_.items, Primitive):
                return f"{type_.items.name}s_skip"
            return self.skip_name(type_.items).removesuffix("_skip") + "s_skip"
        return f"{version}_{base_name(type_)}_skip"

    def skip_body(self, type_):
        if isinstance(type_, Record):
            steps = "".join(f"    if (!(at = {self.skip(f.type)}))\n        return NULL;\n" for f in type_.fields)
            return f"{steps}    return at;\n"
        if isinstance(type_, Union):
            return self.switch_on_branch(type_, [f"    case {i}: return {self.skip(branch)};\n"
                                                 for i, branch in enumerate(type_.branches)])
        return ("    size_t block;\n"
                f"    while ((at = wire_get_block(at, end, {min_size(type_.items)}, &block)) && block > 0)\n"
                "        for (; block > 0; block--)\n"
                f"            if (!(at = {self.skip(type_.items)}))\n                return NULL;\n"
                "    return at;\n")

    # The whole

    def newest(self, record):
        return [v for v in self.versions if v.record == record][-1]

    def reader_of(self, name, struct, readers):
        self.header.append(f"typedef const uint8_t *{name}_reader(const uint8_t *at, const uint8_t *end, "
                           f"struct {name} *{struct}, struct codec *scratch);\n")
        cases = "".join(f"    case {id_}: return {reader};\n" for id_, reader in readers)
        self.function(f"{name}_reader *{name}_reader_of(uint32_t id)",
                      f"    switch (id) {{\n{cases}    default: return NULL;\n    }}\n", public=True)

    def generate_record(self, record):
        newest = self.top = self.newest(record)
        name = snake(newest.type.name)
        self.header.append(f"/* {newest.type.name} */\n")
        self.header.append(f"enum {{ {name.upper()}_SCHEMA_ID = {newest.id} }};\n")
        versions = [v for v in self.versions if v.record == record]
        for version in versions if is_batch(newest.type) else []:
            self.ranges.of_all(version.type)  # lib/deliver and event/delivery.c hold to them
        if not is_batch(newest.type):
            self.records.append((record, name))
            self.declare(newest.type)
            readers = []
            for self.top in reversed(versions):
                self.get(self.top.type, newest.type, "record")
                readers.append((self.top.id, f"{name}{self.suffix(self.top.type, newest.type)}_read"))
            self.reader_of(name, "record", readers)
        for self.top in versions:
            self.skip(self.top.type)

    def generate(self):
        for record in dict.fromkeys(v.record for v in self.versions):
            self.generate_record(record)
        self.ranges.refuse_unused()
        each = "".join(f' \\\n    X({name}, {name.upper()}, "{record}")' for record, name in self.records)
        self.header.append(f"/* X(name, NAME, \"record\") for each record but batches. */\n#define {self.module.upper()}_EACH(X){each}\n")
        rows = "".join(f"    {{.id = {v.id},\n     .record = \"{v.record}\",\n     .json = {c_string(v.text)},\n"
                       f"     .find_end = {snake(v.type.name)}_v{v.number}_skip}},\n" for v in self.versions)
        size = f"{self.module.upper()}_SCHEMAS"
        table = f"const struct event_schema {self.module}_schemas[{size}]"
        self.header.append(f"/* All of ids.txt, in its order. */\nenum {{ {size} = {len(self.versions)} }};\n"
                           f"extern {table};\n")
        self.source.append(f"{table} = {{\n{rows}}};\n")
        note = "/* Generated by lib/event/generate.py from the schemas: edit those. */\n"
        header = (f"{note}#pragma once\n\n"
                  "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n#include \"event/types.h\"\n\n"
                  "struct codec;\n\n" + "\n".join(self.header))
        source = f'{note}#include "records.h"\n\n#include "event/wire.h"\n\n' + "\n".join(self.source)
        return header, source


def main():
    parser = argparse.ArgumentParser(description="Record codecs in C from a directory of Avro schemas.")
    parser.add_argument("--out-dir", type=Path, required=True, help="its name is the prefix of the table of schemas")
    parser.add_argument("schemas", type=Path, help="directory with ids.txt and the .avsc files")
    arguments = parser.parse_args()
    try:
        generator = Generator(read_versions(arguments.schemas), Ranges(arguments.schemas), arguments.out_dir.name)
        header, source = generator.generate()
    except (SchemaError, OSError) as error:
        sys.exit(f"generate.py: {error}")
    arguments.out_dir.mkdir(parents=True, exist_ok=True)
    (arguments.out_dir / "records.h").write_text(header)
    (arguments.out_dir / "records.c").write_text(source)


if __name__ == "__main__":
    main()
