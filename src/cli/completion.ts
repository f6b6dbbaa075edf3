/**
 * `millrace completion`: scripts with which shells complete the command line.
 */
import type { Command } from './command.ts';
import { wrongUsage } from './exit-code.ts';

/** What may follow `millrace`, and then what may follow each command. */
type Words = Readonly<Record<string, readonly string[]>>;

const SCRIPTS: Readonly<Record<string, (words: Words) => string>> = { bash, zsh, fish };

/**
 * The subcommand.
 * @param others the commands that the scripts complete besides this one
 */
export function completionOf(others: readonly Command[]): Command {
  const shells = Object.keys(SCRIPTS);
  return {
    name: 'completion',
    summary: `Print a completion script for ${shells.join(', ')}`,
    words: shells,
    help: () => `Usage: millrace completion ${shells.join('|')}

Prints a script that completes commands and their options:
  bash   source <(millrace completion bash)
  zsh    source <(millrace completion zsh)
  fish   millrace completion fish | source`,
    run: async ([shell, ...more]) => {
      const script = more.length === 0 && Object.hasOwn(SCRIPTS, shell ?? '') ? SCRIPTS[shell!] : undefined;
      if (script === undefined) throw wrongUsage(`Name one shell: ${shells.join(', ')}.`, 'millrace completion');
      const words = others.map(({ name, words: own = [] }) => [name, own] as const);
      console.log(script(Object.fromEntries([...words, ['completion', shells]])));
    },
  };
}

function bash(words: Words): string {
  const cases = Object.entries(words).map(([name, own]) => `    ${name}) words='${[...own, '--help'].join(' ')}' ;;`);
  return `_millrace() {
  local words='${[...Object.keys(words), '--help', '--version'].join(' ')}'
  [ "$COMP_CWORD" -gt 1 ] && case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _millrace millrace`;
}

function zsh(words: Words): string {
  return `autoload -U +X compinit && compinit -u
autoload -U +X bashcompinit && bashcompinit
${bash(words)}`;
}

function fish(words: Words): string {
  const first = Object.keys(words).join(' ');
  const rest = Object.entries(words).map(
    ([name, own]) =>
      `complete -c millrace -n '__fish_seen_subcommand_from ${name}' -a '${[...own, '--help'].join(' ')}'`,
  );
  return [
    `complete -c millrace -f -n 'not __fish_seen_subcommand_from ${first}' -a '${first} --help --version'`,
    ...rest,
  ].join('\n');
}
