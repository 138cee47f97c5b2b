"""A Kafka broker that trusts nobody: TLS with an authority of its own, users with passwords, and an authorizer that allows only what ACLs say."""
import ctypes
import itertools
import pathlib
import re
import shlex
import subprocess

from confluent_kafka.admin import AclBinding, AclBindingFilter, AclOperation, AclPermissionType, AdminClient, ResourcePatternType, ResourceType

from .broker import Broker

BROKER = 'kafka'  # the broker's own user, for whom no ACL is needed

PROPERTIES = '''
listeners=CLIENTS://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=CLIENTS://127.0.0.1:{port}
listener.security.protocol.map=CLIENTS:SASL_SSL,CONTROLLER:SASL_SSL
inter.broker.listener.name=CLIENTS
listener.name.clients.sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN
listener.name.clients.plain.sasl.jaas.config={plain} {users};
listener.name.clients.scram-sha-512.sasl.jaas.config={scram} username="{user}" password="{password}";
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512
listener.name.controller.sasl.enabled.mechanisms=PLAIN
listener.name.controller.plain.sasl.jaas.config={plain} username="{user}" password="{password}" {users};
sasl.mechanism.controller.protocol=PLAIN
ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/authority.pem
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=false
super.users=User:{user}
'''

# Principal = User:starling-feed is Allowed operation = WRITE from host = 127.0.0.1 on resource = Topic:LITERAL:starling.posts for ...
DECISION = re.compile(r'Principal = (?P<principal>\S+) is (?P<decision>Allowed|Denied) operation = (?P<operation>\w+) from host = \S+ '
                      r'on resource = (?P<kind>\w+):LITERAL:(?P<name>\S+) for request')


def mechanism() -> str:
    """The mechanism by which daemons authenticate: librdkafka before 2.6.1 cannot do SCRAM with Kafka 4."""
    library = ctypes.CDLL('librdkafka.so.1')
    return 'SCRAM-SHA-512' if library.rd_kafka_version() >= 0x02060100 else 'PLAIN'


def _openssl(folder, *arguments):
    subprocess.run(['openssl', *map(str, arguments)], check=True, capture_output=True, cwd=folder)


def make_authority(folder: pathlib.Path, name='authority') -> pathlib.Path:
    """A certificate that signs others, and its key beside it."""
    _openssl(folder, 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', 2,
             '-subj', f'/CN={name}', '-keyout', f'{name}.key', '-out', f'{name}.pem')
    return folder / f'{name}.pem'


RESOURCES = {'--topic': ResourceType.TOPIC, '--group': ResourceType.GROUP, '--transactional-id': ResourceType.TRANSACTIONAL_ID}
OPERATIONS = {name: AclOperation[re.sub('(?<=[a-z])(?=[A-Z])', '_', name).upper()]
              for name in ('Read', 'Write', 'Create', 'Describe', 'DescribeConfigs', 'AlterConfigs', 'Delete')}


def acls_in_line(line: str) -> set:
    """The entries that a command line of kafka-acls.sh adds: (resource type, name, pattern, principal, host, operation)."""
    words = shlex.split(line)
    assert words[0] == 'kafka-acls.sh' and '--add' in words, line
    pairs = list(itertools.pairwise(words))
    principal, = (value for key, value in pairs if key == '--allow-principal')
    pattern, = (ResourcePatternType[value.upper()] for key, value in pairs if key == '--resource-pattern-type')
    return {(RESOURCES[key], name, pattern, principal, '*', OPERATIONS[value])
            for option, value in pairs if option == '--operation' for key, name in pairs if key in RESOURCES}


class SecuredBroker(Broker):
    """
    broker = SecuredBroker(folder, jars, tools, ['starling-router', ...]).start()
    broker.security('starling-router')        # the kafka.* settings of that user
    broker.client                             # confluent-kafka's, as the broker's own user, who may do everything
    broker.tool('org.apache.kafka.tools.AclCommand', ...)
    broker.decisions()                        # the authorizer's, as they stand in the log
    """

    def __init__(self, folder: pathlib.Path, jars: pathlib.Path, tools: pathlib.Path, users: list[str]):
        super().__init__(folder, jars)
        self.command[1:1] = ['-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=debug']
        self.passwords = {user: f'{user}-secret' for user in [BROKER, *users]}
        self._tools = tools
        self.authority = make_authority(folder)
        self.password_files = {}
        for user, password in self.passwords.items():
            self.password_files[user] = folder / f'{user}.password'
            self.password_files[user].write_text(password + '\n')
        self.client = {'security.protocol': 'SASL_SSL', 'sasl.mechanism': 'SCRAM-SHA-512', 'sasl.username': BROKER,
                       'sasl.password': self.passwords[BROKER], 'ssl.ca.location': str(self.authority)}
        self.command_config = folder / 'kafka.properties'
        self.command_config.write_text(
            'security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nssl.truststore.type=PEM\n'
            f'ssl.truststore.location={self.authority}\nsasl.jaas.config='
            'org.apache.kafka.common.security.scram.ScramLoginModule required '
            f'username="{BROKER}" password="{self.passwords[BROKER]}";\n')

    def format(self):
        self._make_certificate()
        super().format()

    def _make_certificate(self):
        (self._folder / 'extensions').write_text('subjectAltName=IP:127.0.0.1\n')
        _openssl(self._folder, 'req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=broker',
                 '-keyout', 'broker.key', '-out', 'broker.csr')
        _openssl(self._folder, 'x509', '-req', '-in', 'broker.csr', '-CA', 'authority.pem', '-CAkey', 'authority.key', '-days', 2,
                 '-CAcreateserial', '-extfile', 'extensions', '-out', 'broker.crt')
        (self._folder / 'broker.pem').write_text((self._folder / 'broker.key').read_text() +
                                                 (self._folder / 'broker.crt').read_text())

    def _write_properties(self):
        super()._write_properties()
        modules = 'org.apache.kafka.common.security'
        with open(self._properties, 'a', encoding='utf-8') as properties:  # the last of two lines of a key counts
            properties.write(PROPERTIES.format(
                port=self.port, controller=self.controller_port, folder=self._folder, user=BROKER, password=self.passwords[BROKER],
                users=' '.join(f'user_{user}="{password}"' for user, password in self.passwords.items()),
                scram=f'{modules}.scram.ScramLoginModule required', plain=f'{modules}.plain.PlainLoginModule required'))

    def _format_options(self) -> list[str]:
        return [word for user, password in self.passwords.items()
                for word in ('--add-scram', f'SCRAM-SHA-512=[name={user},password={password},iterations=4096]')]

    def security(self, user: str) -> dict:
        return {'kafka.security.protocol': 'SASL_SSL', 'kafka.sasl.mechanisms': mechanism(),
                'kafka.ssl.ca.location': self.authority, 'kafka.sasl.username': user,
                'kafka.sasl.password.file': self.password_files[user]}

    def tool(self, name: str, *arguments):
        """One of Kafka's own commands."""
        subprocess.run(['java', '-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', f'{self._tools}/*', name,
                        *arguments], check=True, capture_output=True, text=True, timeout=60)

    def run_acls(self, line: str):
        """A command line of kafka-acls.sh, which is a script around this class."""
        command, *arguments = shlex.split(line)
        assert command == 'kafka-acls.sh', line
        self.tool('org.apache.kafka.tools.AclCommand', *arguments)

    def add_acls(self, acls: set):
        """Many at once, as acls_in_line gives them: each run of Kafka's own command takes seconds."""
        admin = AdminClient({'bootstrap.servers': self.bootstrap, 'log_level': 3, **self.client})
        for made in admin.create_acls([AclBinding(*acl, AclPermissionType.ALLOW) for acl in acls]).values():
            made.result(30)

    def remove_acls(self, acls: set):
        admin = AdminClient({'bootstrap.servers': self.bootstrap, 'log_level': 3, **self.client})
        for gone in admin.delete_acls([AclBindingFilter(*acl, AclPermissionType.ALLOW) for acl in acls]).values():
            gone.result(30)

    def acls(self) -> set:
        """All that there are, in the same form."""
        admin = AdminClient({'bootstrap.servers': self.bootstrap, 'log_level': 3, **self.client})
        found = admin.describe_acls(AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY,
                                                     AclPermissionType.ANY)).result(30)
        return {(acl.restype, acl.name, acl.resource_pattern_type, acl.principal, acl.host, acl.operation) for acl in found}

    def decisions(self) -> list[dict]:
        return [found.groupdict() for found in DECISION.finditer(self.log())]
