/**
 * Gathers the settings of every stage and reads them from the environment, once.
 */
import { apiSettings } from '#api/config.ts';
import { quotaSettings } from '#domain/quotas.ts';
import { Secret } from '#domain/secret.ts';
import { hlsSettings } from '#hls/config.ts';
import { httpSettings } from '#http/config.ts';
import { ingestSettings } from '#ingest/config.ts';
import { nearestWord } from '#lib/nearest-word.ts';
import { choice, type Setting, type SettingValues } from '#lib/setting.ts';
import { liveSettings } from '#live/config.ts';
import { originSettings } from '#origin/config.ts';
import { storeSettings } from '#store/config.ts';
import { transcodeSettings } from '#transcode/config.ts';
import { webhookSettings } from '#webhooks/config.ts';

/** Every setting's name starts with it in the environment. */
export const PREFIX = 'MILLRACE_';

const MIN_BOOTSTRAP_KEY_LENGTH = 32;

/** Settings of the process as a whole. */
const processSettings = {
  logLevel: choice('LOG_LEVEL', 'info', 'Least serious log lines written', ['debug', 'info', 'warn', 'error']),
  bootstrapApiKey: {
    name: 'BOOTSTRAP_API_KEY',
    fallback: undefined,
    help: `API key of the user admin in a store that has none yet, at least ${MIN_BOOTSTRAP_KEY_LENGTH} characters; made at random when not set`,
    parse: parseBootstrapKey,
    secret: true,
  },
} as const;

/** The settings of every stage, in the order they are documented. */
export const SETTINGS = {
  http: httpSettings,
  api: apiSettings,
  quotas: quotaSettings,
  ingest: ingestSettings,
  live: liveSettings,
  transcode: transcodeSettings,
  hls: hlsSettings,
  origin: originSettings,
  webhooks: webhookSettings,
  store: storeSettings,
  process: processSettings,
} as const satisfies Record<string, Record<string, Setting<unknown>>>;

/** Every setting's value, by stage. Never changes. */
export type Config = { readonly [Stage in keyof typeof SETTINGS]: SettingValues<(typeof SETTINGS)[Stage]> };

/** Settings are wrong; each problem is a sentence that names the setting and says what to write. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Reads every setting.
 * @param environment names with their {@link PREFIX}; other names are ignored
 * @throws {ConfigError} with all that is wrong at once: values that do not parse and names that are no setting
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const known = new Set<string>();
  const config: Record<string, object> = {};
  for (const [stage, settings] of Object.entries(SETTINGS)) {
    const values: Record<string, unknown> = {};
    for (const [key, setting] of Object.entries(settings) as [string, Setting<unknown>][]) {
      const name = PREFIX + setting.name;
      known.add(name);
      const text = environment[name] ?? setting.fallback;
      try {
        values[key] = text === undefined ? undefined : setting.parse(text);
      } catch (error) {
        const shown = setting.secret ? '' : `is ${JSON.stringify(clip(text ?? ''))} but `;
        problems.push(`${name} ${shown}${(error as Error).message}.`);
      }
    }
    config[stage] = Object.freeze(values);
  }
  for (const name of Object.keys(environment)) {
    if (!name.startsWith(PREFIX) || known.has(name)) continue;
    const meant = nearestWord(name, known);
    problems.push(
      `${name} is not a setting; ${meant ? `did you mean ${meant}?` : 'see millrace serve --help for those there are.'}`,
    );
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config) as Config;
}

/** {@link readConfig} of this process's environment. */
export const configFromEnvironment = (): Config => readConfig(process.env);

/** Any text will do that can come back in a header as it is. */
function parseBootstrapKey(value: string): Secret {
  if (value.length < MIN_BOOTSTRAP_KEY_LENGTH) {
    throw new Error(`must have at least ${MIN_BOOTSTRAP_KEY_LENGTH} characters`);
  }
  if (value !== value.trim() || /\p{Cc}/u.test(value)) {
    throw new Error('must not start or end with blanks or hold control characters, which a header cannot carry');
  }
  return new Secret(value);
}

const clip = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}...` : text);
