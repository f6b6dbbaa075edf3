/**
 * Collects the settings of every part and reads them once from the environment.
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
import { objectSettings } from '#objects/config.ts';
import { originSettings } from '#origin/config.ts';
import { recordingSettings } from '#recording/config.ts';
import { storeSettings } from '#store/config.ts';
import { transcodeSettings } from '#transcode/config.ts';
import { webhookSettings } from '#webhooks/config.ts';

/** The prefix of every setting's name in the environment. */
export const PREFIX = 'MILLRACE_';

const MIN_BOOTSTRAP_KEY_LENGTH = 32;

/** The settings of the process as a whole. */
const processSettings = {
  logLevel: choice('LOG_LEVEL', 'info', 'Least severe level of log lines that are written', [
    'debug',
    'info',
    'warn',
    'error',
  ]),
  bootstrapApiKey: {
    name: 'BOOTSTRAP_API_KEY',
    fallback: undefined,
    help: `API key that is created for the user admin in a store without any API key, at least ${MIN_BOOTSTRAP_KEY_LENGTH} characters; random by default`,
    parse: parseBootstrapKey,
    secret: true,
  },
} as const;

/** The settings of every part, in the order in which they are documented. */
export const SETTINGS = {
  http: httpSettings,
  api: apiSettings,
  quotas: quotaSettings,
  ingest: ingestSettings,
  live: liveSettings,
  transcode: transcodeSettings,
  hls: hlsSettings,
  recording: recordingSettings,
  objects: objectSettings,
  origin: originSettings,
  webhooks: webhookSettings,
  store: storeSettings,
  process: processSettings,
} as const satisfies Record<string, Record<string, Setting<unknown>>>;

/** The value of every setting, by part. Never changes. */
export type Config = { readonly [Stage in keyof typeof SETTINGS]: SettingValues<(typeof SETTINGS)[Stage]> };

/** Some settings are wrong. Each problem is a sentence that names the setting and says how to correct it. */
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
 * @param environment variables whose names begin with {@link PREFIX}; others are ignored
 * @throws {ConfigError} with all problems at once: values that cannot be parsed, and names that are not settings
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  /** The names of all settings, without the prefix. */
  const known = new Set<string>();
  const config: Record<string, object> = {};
  for (const [stage, settings] of Object.entries(SETTINGS)) {
    const values: Record<string, unknown> = {};
    for (const [key, setting] of Object.entries(settings) as [string, Setting<unknown>][]) {
      const name = PREFIX + setting.name;
      known.add(setting.name);
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
    if (!name.startsWith(PREFIX) || known.has(name.slice(PREFIX.length))) continue;
    const meant = nearestWord(name.slice(PREFIX.length), known);
    problems.push(
      `${name} is not a setting; ${meant ? `did you mean ${PREFIX}${meant}?` : 'all settings are listed by millrace serve --help and in docs/reference/settings.md.'}`,
    );
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config) as Config;
}

/** Describes the settings in force, without secrets. Lists and other values that are not text are written as JSON. */
export function settingsInForce(
  config: Config,
): readonly { readonly name: string; readonly value?: string; readonly isSecret: boolean }[] {
  return Object.entries(SETTINGS).flatMap(([stage, settings]) =>
    Object.entries<Setting<unknown>>(settings).map(([key, { name, secret: isSecret = false }]) => {
      const value = (config[stage as keyof Config] as Readonly<Record<string, unknown>>)[key];
      if (value === undefined || isSecret) return { name: PREFIX + name, isSecret };
      return { name: PREFIX + name, isSecret, value: typeof value === 'string' ? value : JSON.stringify(value) };
    }),
  );
}

/** Reads the settings from this process's environment. */
export const configFromEnvironment = (): Config => readConfig(process.env);

/** Accepts every text that is long enough and that a header can carry unchanged. */
function parseBootstrapKey(value: string): Secret {
  if (value.length < MIN_BOOTSTRAP_KEY_LENGTH) {
    throw new Error(`must have at least ${MIN_BOOTSTRAP_KEY_LENGTH} characters`);
  }
  if (value !== value.trim() || /\p{Cc}/u.test(value)) {
    throw new Error('must not start or end with spaces or contain control characters, which a header cannot carry');
  }
  return new Secret(value);
}

const clip = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}...` : text);
