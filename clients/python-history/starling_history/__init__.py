"""starling's location history, for analysts: each row once."""
from .convert import Done, convert
from .reading import Moment, batches, open_reader, read, read_pandas
from .rows import SCHEMA, UnreadableFile

__all__ = ['SCHEMA', 'Done', 'Moment', 'UnreadableFile', 'batches', 'convert', 'open_reader', 'read', 'read_pandas']
