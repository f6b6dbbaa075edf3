/**
 * A setting: its name, default, meaning and parser. Each stage lists its settings in its `config.ts`, and `src/config.ts` reads them all.
 */

/** A setting as a stage defines it. */
export interface Setting<Value> {
  /** Without the `MILLRACE_` prefix. */
  readonly name: string;
  /** The default, as written in the environment; undefined when the setting may be absent. */
  readonly fallback: string | undefined;
  /** What it is for, with its unit: one line of `serve --help`. */
  readonly help: string;
  /** Reads the text of the setting. @throws {Error} whose message completes "MILLRACE_X ..." and says what to write instead */
  readonly parse: (text: string) => Value;
  /** Whether its value must never be shown, not even in the sentence about what is wrong with it. */
  readonly secret?: boolean;
}

/** The values of a record of settings; one without a fallback may be undefined. */
export type SettingValues<Settings extends Record<string, Setting<unknown>>> = {
  readonly [Key in keyof Settings]:
    | ReturnType<Settings[Key]['parse']>
    | (Settings[Key]['fallback'] extends string ? never : undefined);
};

/** A whole number within bounds, both included. */
export function integer<Fallback extends string | undefined>(
  name: string,
  fallback: Fallback,
  help: string,
  { min, max }: { min: number; max: number },
) {
  const parse = (text: string): number => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new Error(`must be a whole number from ${min} to ${max}`);
    return value;
  };
  return { name, fallback, help, parse } as const;
}

/** A TCP port; 0 takes any free one. */
export function port(name: string, fallback: string, help: string) {
  return integer(name, fallback, `${help}; 0 = any free port`, { min: 0, max: 65_535 });
}

/** A TCP port, or undefined for `off`, which means that nothing listens. */
export function portOrOff(name: string, fallback: string, help: string) {
  const { parse: parsePort } = port(name, fallback, help);
  const parse = (text: string): number | undefined => {
    if (text === 'off') return undefined;
    try {
      return parsePort(text);
    } catch (error) {
      throw new Error(`${(error as Error).message}, or off`);
    }
  };
  return { name, fallback, help: `${help}; 0 = any free port, off = none`, parse } as const;
}

/** Text that is not empty. */
export function text<Fallback extends string | undefined>(name: string, fallback: Fallback, help: string) {
  const parse = (value: string): string => {
    if (value.trim() === '') throw new Error('must not be empty');
    return value;
  };
  return { name, fallback, help, parse } as const;
}

/** One of a few words. */
export function choice<const Word extends string>(name: string, fallback: Word, help: string, words: readonly Word[]) {
  const parse = (value: string): Word => {
    const word = words.find((each) => each === value);
    if (word === undefined) throw new Error(`must be one of ${words.join(', ')}`);
    return word;
  };
  return { name, fallback, help: `${help} (${words.join(', ')})`, parse } as const;
}
