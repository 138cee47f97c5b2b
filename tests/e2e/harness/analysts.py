"""The SQL of docs/ANALYSTS.md, for the test that runs it and the bench that times it."""
import re

import duckdb

from .broker import REPOSITORY

PAGE = REPOSITORY / 'docs/ANALYSTS.md'


def set_up() -> list[str]:
    """The blocks in front of the queries: the view on Parquet, and what needs its columns date and hour."""
    return re.findall(r'^```sql\n(.*?)^```$', PAGE.read_text().partition('\n## Queries\n')[0], re.M | re.S)


def queries() -> list[tuple[str, str]]:
    """The queries that run on either format, with their headings."""
    parts = re.split(r'^### ', PAGE.read_text().partition('\n## Queries\n')[2], flags=re.M)[1:]
    return [(part.partition('\n')[0], sql) for part in parts for sql in re.findall(r'^```sql\n(.*?)^```$', part, re.M | re.S)]


def on_parquet(folder) -> duckdb.DuckDBPyConnection:
    """A connection that has the view of the page on a data set."""
    connection = duckdb.connect()
    connection.execute('SET autoinstall_known_extensions = false')
    connection.execute(set_up()[0].replace("'parquet/", f"'{folder}/"))
    return connection


def on_arrow(reports) -> duckdb.DuckDBPyConnection:
    """A connection that sees an Arrow table as `reports`."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register('reports', reports)
    return connection
