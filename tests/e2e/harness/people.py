"""Users whom a sign-in provider knows by texts (auth.user.ids=directory)."""
import hashlib
import uuid

from .geo import HOME
from .http import Http
from .records import key_users
from .waiting import eventually

ISSUER = 'https://app.eu.auth0.com/'


def number_of(external: str) -> int:
    """With the place 0."""
    return 1 << 52 | (int.from_bytes(hashlib.sha256(external.encode()).digest()[:8], 'big') >> 14) * 4


def fresh() -> str:
    return f'auth0|{uuid.uuid4().hex}'


def settings_of(provider) -> dict:
    """Of a cluster whose users are that provider's."""
    settings = {'auth.user.ids': 'directory', 'auth.audience': 'starling', 'auth.issuer': ISSUER, 'auth.jwks.url': provider.url}
    return {f'{kind}:{name}': value for kind in ('ingest', 'fanout') for name, value in settings.items()}


class People:
    """Users of a provider."""

    def __init__(self, cluster, provider):
        self.cluster, self.provider = cluster, provider

    def token(self, external, **claims):
        return self.provider.token('one', external, aud=['starling', 'other'], iss=ISSUER, **claims)

    def http(self, external, **claims):
        return Http(self.cluster.http_url, self.token(external, **claims))

    def me(self, external) -> dict:
        """As the gateway says it once the number is decided."""
        def answered():
            response = self.http(external).get('/v1/me')
            assert response.status_code in (200, 503), response.text
            return response.ok and response.json()

        return eventually(answered, 60)

    def welcome(self, external) -> int:
        """Whom the edge welcomes, once the number is decided."""
        def answered():
            with self.cluster.phone(external, token=self.token(external)) as phone:
                phone.hello(*HOME, wait=False)
                return phone.expect('welcome', 15)['user']

        return eventually(answered, 60)

    def entries(self) -> dict[int, list[str]]:
        return {key_users(key)[0]: entry['externals'] for key, entry in self.cluster.topics.latest('directory').items()}
