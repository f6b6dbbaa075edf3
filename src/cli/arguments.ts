/**
 * Reads the arguments of a command.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { isName } from '#domain/name.ts';
import { Exit, wrongUsage } from './exit-code.ts';

/** The arguments that a command takes. */
export interface Arguments {
  /** Options with a value: `--name VALUE`. */
  readonly options?: readonly string[];
  /** Options without a value: `--admin`. */
  readonly flags?: readonly string[];
  /** The exact number of positional arguments, or the smallest number if more may follow. */
  readonly positionals?: number;
  readonly moreMayFollow?: boolean;
}

/** The arguments of a command line: the value of each option, if it was given, and the flags that were given. */
interface Read {
  readonly options: Readonly<Record<string, string | undefined>>;
  readonly flags: ReadonlySet<string>;
  readonly positionals: readonly string[];
}

/**
 * Reads arguments.
 * @throws {Exit} when they are not valid. Its sentence repeats none of them, since one may be a key typed in the wrong place
 */
export function readArguments(
  args: readonly string[],
  { options = [], flags = [], positionals = 0, moreMayFollow = false }: Arguments,
  command: string,
): Read {
  const config = Object.fromEntries([
    ...options.map((name) => [name, { type: 'string' } as const] as const),
    ...flags.map((name) => [name, { type: 'boolean' } as const] as const),
  ]);
  const parsed = parsedArguments({ args: [...args], options: config, allowPositionals: true }, command);
  const { length } = parsed.positionals;
  if (length < positionals) throw wrongUsage('An argument is missing.', command);
  if (length > positionals && !moreMayFollow) throw wrongUsage('There are too many arguments.', command);
  // No value is a list, because no option may be given several times.
  const values = options.map((name) => [name, parsed.values[name] as string | undefined] as const);
  const given = flags.filter((name) => parsed.values[name] === true);
  return { options: Object.fromEntries(values), flags: new Set(given), positionals: parsed.positionals };
}

/** Like {@link readArguments}, for a command that reports every fault in its arguments with the same sentence. */
export function readSimpleArguments(
  args: readonly string[],
  expected: Arguments,
  sentence: string,
  command: string,
): Read {
  try {
    const read = readArguments(args, expected, command);
    if (!read.positionals.includes('')) return read;
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
  }
  throw wrongUsage(sentence, command);
}

/** Parses arguments without the messages of parseArgs, which repeat what was typed. Only the codes of its errors are used. */
function parsedArguments(config: ParseArgsConfig, command: string) {
  try {
    return parseArgs(config);
  } catch (error) {
    const isUnknown = error instanceof TypeError && 'code' in error && error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION';
    throw wrongUsage(
      isUnknown ? 'There is no such option.' : 'An option lacks its value, or has one that it does not take.',
      command,
    );
  }
}

/** Returns the value if it can be the name of a user or key. @throws {Exit} when it cannot */
export function checkedName(value: string | undefined, what: string, command: string): string {
  if (value !== undefined && isName(value)) return value;
  throw wrongUsage(`${what} must be a name of 1 to 100 printable characters.`, command);
}
