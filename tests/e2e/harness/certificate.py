"""Certificates that tests make for edges."""
import datetime
import ipaddress
import pathlib
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Certificate:
    """A certificate for 127.0.0.1 by itself, written to two files; `key` is a private key of cryptography's."""

    def __init__(self, key=None, days=30):
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, 'localhost')])
        now = datetime.datetime.now(datetime.UTC)
        self.end = now + datetime.timedelta(days=days)
        self.certificate = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(self.key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(self.end)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address('127.0.0.1'))]), False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
            .sign(self.key, hashes.SHA256()))
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM)
        self.key_pem = self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                              serialization.NoEncryption())

    def write(self, folder: pathlib.Path) -> dict:
        """The settings of an edge that has it."""
        (folder / 'edge.pem').write_bytes(self.pem)
        (folder / 'edge.key').write_bytes(self.key_pem)
        return {'edge.tls.certificate.file': folder / 'edge.pem', 'edge.tls.key.file': folder / 'edge.key'}

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.pem.decode())
