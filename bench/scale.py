"""What breaks first as starling grows, by measuring the parts and simulating the whole. docs/SCALING.md has the conclusions."""
import argparse
import importlib
import json
import pathlib

from machine import machine

STAGES = ('observe', 'regions', 'hot', 'storm', 'partitions', 'requests', 'whole')


def arguments():
    parser = argparse.ArgumentParser(prog='bench scale', description=__doc__.splitlines()[0])
    parser.add_argument('--stages', default=','.join(STAGES), help='which, of ' + ','.join(STAGES))
    parser.add_argument('--present', default='1,10,40', help='observe: millions of users present, one row each')
    parser.add_argument('--observed', type=int, default=1_000_000, help='observe: users present at the whole router')
    parser.add_argument('--ego', type=pathlib.Path, help="regions: a real graph, 'a b' a line, gzip or plain: SNAP's ego-Facebook edge list")
    parser.add_argument('--counts', default='64,256,1024', help='partitions: how many, one row each')
    parser.add_argument('--brokers', default='1,3', help='requests: of how many brokers, one table each: 1 or 3')
    parser.add_argument('--parts', default='1000,500,300', help='whole: which parts of the headline load, one deployment each')
    parser.add_argument('--seconds', type=int, default=60, help='whole: how long each deployment is measured')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    return parser.parse_args()


def main():
    options = arguments()
    result = {'bench': 'scale', 'machine': machine()}
    this = result['machine']
    print(f"scale: {this['cpu']}, {this['cores']} cores, Linux {this['kernel']}, {this['version']}")
    for stage in options.stages.split(','):
        print()
        importlib.import_module(f'scale_{stage}').run(options, result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + '\n')


main()
