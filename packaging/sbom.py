#!/usr/bin/env python3
"""Software bill of materials of built programs: CycloneDX 1.5, JSON, on standard output.

    sbom.py VERSION PACKAGE_LOCK PROGRAM...

Components are the shared libraries that the programs load, as packages of this Debian (dpkg's data), and the page's libraries from npm's
lock file. It says nothing of time, so that the same build gives the same bytes; SOURCE_DATE_EPOCH is its time, if there is one.
"""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """The files that the dynamic linker loads for it."""
    return {pathlib.Path(path).resolve() for path in re.findall(r'^\s*(?:\S+ => )?(/\S+)', said('ldd', program), re.MULTILINE)}


def owner(file):
    """The package of a file. dpkg knows libraries by the name that they had before /usr was merged, or the one after."""
    for name in (str(file), str(file).removeprefix('/usr')):
        found = subprocess.run(['dpkg', '-S', name], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.rsplit(': ', 1)[0].split(', ')[0]
    raise SystemExit(f'sbom.py: no package owns {file}')


def packages_of(program):
    packages = {owner(file) for file in libraries(program)}
    if any(package.startswith('libwebsockets') for package in packages):
        packages.add('libwebsockets-evlib-uv')  # loaded when it runs: the event loop's plug-in
    return sorted(packages)


def licences(package):
    """The short names of licences in the package's copyright file, where it is of the machine-readable kind."""
    file = pathlib.Path('/usr/share/doc') / package / 'copyright'
    text = file.read_text(errors='replace') if file.exists() else ''
    return sorted(set(re.findall(r'^License: *(\S.*)$', text, re.MULTILINE))) if text.startswith('Format:') else []


def release():
    return dict(line.rstrip().split('=', 1) for line in open('/etc/os-release') if '=' in line)['VERSION_CODENAME'].strip('"')


def debian_component(package):
    name, version, source, source_version, architecture, home = said(
        'dpkg-query', '-W', '-f', '${Package}\n${Version}\n${source:Package}\n${source:Version}\n${Architecture}\n${Homepage}',
        package).split('\n')
    component = {
        'type': 'library', 'bom-ref': f'deb:{name}', 'name': name, 'version': version,
        'purl': f'pkg:deb/debian/{name}@{version}?arch={architecture}&distro={release()}',
        'licenses': [{'license': {'name': licence}} for licence in licences(name)],
        'properties': [{'name': 'debian:source', 'value': f'{source} {source_version}'}],
    }
    if home:
        component['externalReferences'] = [{'type': 'website', 'url': home}]
    return component


def page_components(lock):
    for path, package in sorted(json.loads(pathlib.Path(lock).read_text())['packages'].items()):
        if path and not package.get('dev') and not package.get('link'):
            name = path.rpartition('node_modules/')[2]
            yield {'type': 'library', 'bom-ref': f'npm:{name}', 'name': name, 'version': package['version'],
                   'purl': f'pkg:npm/{name}@{package["version"]}', 'licenses': [{'license': {'id': package['license']}}]}


def main():
    version, lock, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
    uses = {pathlib.Path(program).name: packages_of(program) for program in sorted(programs)}
    packages = sorted(set().union(*uses.values()))
    components = [debian_component(package) for package in packages] + list(page_components(lock))
    own = [{'type': 'application', 'bom-ref': name, 'name': name, 'version': version, 'licenses': [{'license': {'id': 'Apache-2.0'}}]}
           for name in uses]
    time = datetime.datetime.fromtimestamp(int(os.environ.get('SOURCE_DATE_EPOCH', '0')), datetime.UTC)
    bom = {
        'bomFormat': 'CycloneDX', 'specVersion': '1.5', 'version': 1,
        'metadata': {'timestamp': time.strftime('%Y-%m-%dT%H:%M:%SZ'),
                     'component': {'type': 'application', 'bom-ref': 'all', 'name': 'starling', 'version': version,
                                   'licenses': [{'license': {'id': 'Apache-2.0'}}]}},
        'components': own + components,
        'dependencies': [{'ref': name, 'dependsOn': ['deb:' + package.partition(':')[0] for package in needed]}
                         for name, needed in uses.items()] +
                        [{'ref': 'all', 'dependsOn': [component['bom-ref'] for component in own] +
                          [component['bom-ref'] for component in page_components(lock)]}],
    }
    bom['serialNumber'] = 'urn:uuid:' + str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True)))
    print(json.dumps(bom, indent=1))


if __name__ == '__main__':
    main()
