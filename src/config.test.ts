import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, PREFIX, readConfig, SETTINGS, settingsInForce } from '#config.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import type { Setting } from '#lib/setting.ts';

const all = Object.values(SETTINGS).flatMap((settings) => Object.values<Setting<unknown>>(settings));

/** The problems found in an environment. */
function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return [];
}

test('an empty environment gives the documented defaults', () => {
  const config = readConfig({ PATH: '/usr/bin' });
  assert.deepEqual([config.http.host, config.http.port], ['0.0.0.0', 8080]);
  assert.deepEqual([config.ingest.rtmpHost, config.ingest.rtmpPort], ['0.0.0.0', 1935]);
  assert.deepEqual([config.http.metricsHost, config.http.metricsPort], ['127.0.0.1', 9090]);
  assert.deepEqual(config.api.defaultProfiles, DEFAULT_PROFILES);
  assert.equal(config.api.prefix, '/api');
});

test('the configuration cannot be changed', () => {
  const config = readConfig({});
  assert.ok(Object.isFrozen(config));
  assert.ok(Object.values(config).every(Object.isFrozen));
});

test('no two settings share a name, and each has a help text', () => {
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
  for (const { name, help } of all) {
    assert.match(name, /^[A-Z0-9_]+$/);
    assert.ok(help.length > 10, name);
    assert.doesNotMatch(help, /\.$/, `${name}: the help adds the full stop`);
  }
});

test('all problems are reported at once, each with its name, its value and the correct form', () => {
  const problems = problemsOf({
    MILLRACE_HTTP_PORT: '65536',
    MILLRACE_LOG_LEVEL: 'loud',
    MILLRACE_DATA_DIR: '',
    MILLRACE_HTP_HOST: 'x',
  });
  assert.deepEqual(problems.toSorted(), [
    'MILLRACE_DATA_DIR is "" but must not be empty.',
    'MILLRACE_HTP_HOST is not a setting; did you mean MILLRACE_HTTP_HOST?',
    'MILLRACE_HTTP_PORT is "65536" but must be a whole number from 0 to 65535.',
    'MILLRACE_LOG_LEVEL is "loud" but must be one of debug, info, warn, error.',
  ]);
});

test('a name that resembles no setting is refused, and the error says where all settings are listed', () => {
  assert.deepEqual(problemsOf({ MILLRACE_FOO: '1' }), [
    'MILLRACE_FOO is not a setting; all settings are listed by millrace serve --help and in docs/reference/settings.md.',
  ]);
});

/** The refused values of settings. */
const REFUSED: readonly (readonly [name: string, value: string])[] = [
  ['PUBLIC_URL', 'live.example.com'],
  ['PUBLIC_URL', 'ftp://live.example.com'],
  ['PUBLIC_URL', 'https://live.example.com/path'],
  ['PUBLIC_URL', 'https://user:pw@live.example.com'],
  ['TRUSTED_PROXIES', '10.0.0.0/33'],
  ['TRUSTED_PROXIES', 'proxy.example.com'],
  ['API_PREFIX', 'api'],
  ['API_PREFIX', '/a b'],
  ['API_PREFIX', '/hls'],
  ['API_PREFIX', '/recordings'],
  ['DEFAULT_PROFILES', '['],
  ['DEFAULT_PROFILES', '{}'],
  ['DEFAULT_PROFILES', '[{"name":"a"}]'],
  ['DEFAULT_PROFILES', '[{"name":"source","bitrate":1000,"fps":30,"width":640,"height":360}]'],
  ['HTTP_PORT', '-1'],
  ['HTTP_PORT', '8e3'],
  ['RTMP_PORT', 'none'],
  ['PUBLIC_RTMP_URL', 'live.example.com'],
  ['PUBLIC_RTMP_URL', 'rtmp://live.example.com/live'],
  ['PUBLIC_RTMP_URL', 'rtmp://user:pw@live.example.com'],
  ['PUBLIC_RTMP_URL', 'rtmps://live.example.com,'],
  ['TLS_CERT', ''],
  ['WRONG_KEYS_PER_MINUTE', '0'],
];

for (const [name, value] of REFUSED) {
  test(`${name} cannot be ${value}`, () => {
    const [problem, ...others] = problemsOf({ [PREFIX + name]: value });
    assert.ok(problem?.startsWith(`${PREFIX}${name} is ${JSON.stringify(value)} but must `), String(problem));
    assert.deepEqual(others, []);
  });
}

test('settings are accepted in several common forms', () => {
  const { http, api, ingest } = readConfig({
    MILLRACE_PUBLIC_URL: 'https://Live.example.com/',
    MILLRACE_TRUSTED_PROXIES: 'loopback, 10.0.0.0/8,2001:db8::/32',
    MILLRACE_API_PREFIX: '/',
    MILLRACE_RTMP_PORT: 'off',
    MILLRACE_PUBLIC_RTMP_URL: 'rtmps://live.example.com:443/, rtmp://10.0.0.1',
  });
  assert.equal(http.publicUrl, 'https://live.example.com');
  assert.deepEqual(http.trustedProxies, ['loopback', '10.0.0.0/8', '2001:db8::/32']);
  assert.equal(api.prefix, '');
  assert.equal(ingest.rtmpPort, undefined);
  assert.deepEqual(ingest.publicRtmpUrl, ['rtmps://live.example.com:443', 'rtmp://10.0.0.1']);
});

test('a bootstrap key is any text of at least 32 characters, and is never shown', () => {
  const short = 'x'.repeat(31);
  assert.deepEqual(problemsOf({ MILLRACE_BOOTSTRAP_API_KEY: short }), [
    'MILLRACE_BOOTSTRAP_API_KEY must have at least 32 characters.',
  ]);
  const blank = ` ${short}x`;
  assert.ok(!problemsOf({ MILLRACE_BOOTSTRAP_API_KEY: blank }).join().includes(short));
  const { bootstrapApiKey } = readConfig({ MILLRACE_BOOTSTRAP_API_KEY: `${short}ß` }).process;
  assert.equal(bootstrapApiKey?.reveal(), `${short}ß`);
  assert.equal(JSON.stringify({ bootstrapApiKey }), '{"bootstrapApiKey":"[redacted]"}');
});

test('the settings in force are described without secrets', () => {
  const secret = 'x'.repeat(40);
  const databaseUrl = 'postgres://user:password@host:5432/database';
  const config = readConfig({ MILLRACE_BOOTSTRAP_API_KEY: secret, MILLRACE_DATABASE_URL: databaseUrl });
  const described = settingsInForce(config);
  const find = (name: string) => described.find((setting) => setting.name === name);
  assert.deepEqual(find('MILLRACE_EVENT_RETENTION_DAYS'), {
    name: 'MILLRACE_EVENT_RETENTION_DAYS',
    value: '30',
    isSecret: false,
  });
  assert.deepEqual(find('MILLRACE_BOOTSTRAP_API_KEY'), { name: 'MILLRACE_BOOTSTRAP_API_KEY', isSecret: true });
  assert.equal(JSON.stringify(described).includes('password@'), false);
});
