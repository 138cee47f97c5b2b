"""The command line of the models, and the violations of many random histories."""
import argparse


def violations_of(make, first, count, without=()):
    """Of the histories make(seed, rules left out) that have any, by seed."""
    found = {seed: make(seed, without).run() for seed in range(first, first + count)}
    return {seed: violations for seed, violations in found.items() if violations}


def read_options(model, rules):
    """model: its docstring. rules: name -> text."""
    parser = argparse.ArgumentParser(description=model, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('histories', nargs='?', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=0, help='of the first history')
    parser.add_argument('--without', action='append', default=[], choices=sorted(rules), metavar='RULE', help=', '.join(rules))
    parser.add_argument('--each', '--rules', action='store_true', help='leaves out each rule in turn')
    return parser.parse_args()


def main(model, rules, make):
    """Prints the violations, or with --each how many histories have any without each rule. Returns the exit code."""
    options = read_options(model, rules)
    if options.each:
        print('| rule | left out | histories with a violation |\n|---|---|---|')
        for rule in rules:
            print(f'| {rule} | {rules[rule]} | {len(violations_of(make, options.seed, options.histories, (rule,)))} |', flush=True)
        return 0
    found = violations_of(make, options.seed, options.histories, options.without)
    for seed, violations in found.items():
        for violation in violations:
            print(f'seed {seed}:', *violation, flush=True)
    print(f'{options.histories} histories; {len(found)} with violations')
    return 1 if found else 0
