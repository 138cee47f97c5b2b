"""A schema registry as small as one can be: what Confluent's documentation says of subjects, ids, and the mode IMPORT, in memory."""
import json
import re
import urllib.parse

from .answering import Answering


class Registry(Answering):
    """url: where it listens. subjects: {name: {version: (id, schema text)}}; modes: {name: mode}; refusing: a message with which it
    refuses all schemas as incompatible, or None; keeping: it lets no subject out of the mode IMPORT."""

    def __init__(self):
        self.subjects, self.modes, self.refusing, self.keeping, self.asked = {}, {}, None, False, 0

        def answer(method, path, _, body):
            status, reply = self.handle(method, urllib.parse.urlsplit(path).path, json.loads(body) if body else None)
            return status, json.dumps(reply).encode()

        super().__init__(answer, kind='application/vnd.schemaregistry.v1+json')

    def handle(self, method, path, body):
        self.asked += 1
        if method == 'GET' and (match := re.fullmatch(r'/mode/([^/]+)', path)):
            if match[1] in self.modes:
                return 200, {'mode': self.modes[match[1]]}
            return 404, {'error_code': 40409, 'message': f"Subject '{match[1]}' does not have subject-level mode configured"}
        if match := re.fullmatch(r'/mode/([^/]+)', path):
            if self.keeping and body['mode'] != 'IMPORT':
                return 500, {'error_code': 50001, 'message': 'Error in the backend data store'}
            self.modes[match[1]] = body['mode']
            return 200, body
        if match := re.fullmatch(r'/subjects/([^/]+)/versions/(\d+)', path):
            versions = self.subjects.get(match[1])
            if versions is None:
                return 404, {'error_code': 40401, 'message': f"Subject '{match[1]}' not found."}
            if int(match[2]) not in versions:
                return 404, {'error_code': 40402, 'message': f'Version {match[2]} not found.'}
            number, schema = versions[int(match[2])]
            return 200, {'subject': match[1], 'version': int(match[2]), 'id': number, 'schema': schema}
        if method == 'POST' and (match := re.fullmatch(r'/subjects/([^/]+)/versions', path)):
            return self.register(match[1], body)
        return 404, {'error_code': 404, 'message': 'HTTP 404 Not Found'}

    def register(self, subject, body):
        if self.refusing:
            return 409, {'error_code': 409, 'message': self.refusing}
        if self.modes.get(subject) != 'IMPORT':
            return 422, {'error_code': 42205, 'message': f'Subject {subject} is not in import mode'}
        there = {number: schema for versions in self.subjects.values() for number, schema in versions.values()}
        if there.get(body['id'], body['schema']) != body['schema']:
            return 422, {'error_code': 42205, 'message': f"Overwrite new schema with id {body['id']} is not permitted."}
        self.subjects.setdefault(subject, {})[body['version']] = body['id'], body['schema']
        return 200, {'id': body['id']}
