/**
 * Settings of the API.
 */

import { createRequire } from 'node:module';
import { DEFAULT_PROFILES, type Profile } from '#domain/profile.ts';
import { Type } from '#lib/schema.ts';
import { integer, type SettingValues } from '#lib/setting.ts';
import { MAX_PROFILES, ProfileSchema } from './schemas/profile.ts';
import { profilesProblem } from './stream-rules.ts';

const DEFAULT_LADDER = JSON.stringify(DEFAULT_PROFILES);

/** The settings of the API that an operator may change. */
export const apiSettings = {
  prefix: {
    name: 'API_PREFIX',
    fallback: '/api',
    help: 'Path of the API. Set / to serve the API at the root',
    parse: parsePrefix,
  },
  defaultProfiles: {
    name: 'DEFAULT_PROFILES',
    fallback: DEFAULT_LADDER,
    help: 'Profiles of streams that are created without `profiles`, as a JSON list',
    parse: parseProfiles,
  },
  wrongKeysPerMinute: integer(
    'WRONG_KEYS_PER_MINUTE',
    '20',
    'Wrong API and stream keys allowed per minute from one address, or one /64 of IPv6, over HTTP and RTMP together',
    { min: 1, max: 100_000 },
  ),
  rateLimit: integer(
    'API_RATE_LIMIT',
    '6000',
    'Requests that each API key may make in a minute, even all at once. Each server counts separately; 0 = no limit',
    { min: 0, max: 100_000_000 },
  ),
};

/** The values of the settings. */
export type ApiSettings = SettingValues<typeof apiSettings>;

function parsePrefix(value: string): string {
  const prefix = value.replace(/\/$/, '');
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(prefix)) throw new Error('must be a path such as /api, or /');
  if (/^\/(hls|play|recordings|docs|assets|dashboard|healthz)(\/|$)/.test(prefix))
    throw new Error(
      'must not start with /hls, /play, /recordings, /docs, /assets, /dashboard or /healthz, which are taken',
    );
  return prefix;
}

function parseProfiles(value: string): readonly Profile[] {
  if (value === DEFAULT_LADDER) return DEFAULT_PROFILES;
  let profiles: unknown;
  try {
    profiles = JSON.parse(value);
  } catch {
    throw new Error(
      'must be a JSON list of profiles, such as [{"name":"720p","bitrate":2000000,"fps":30,"width":1280,"height":720}]',
    );
  }
  // Loaded only when the operator sets a ladder, because it takes 9 MB and a twentieth of the start-up time.
  const { Compile } = createRequire(import.meta.url)('typebox/compile') as typeof import('typebox/compile');
  const schema = Type.Array(ProfileSchema, { maxItems: MAX_PROFILES });
  const check = Compile(schema);
  if (!check.Check(profiles)) {
    const first = check.Errors(profiles)[0];
    throw new Error(
      `must be a JSON list of profiles as POST /stream takes them; ${first?.instancePath || 'the value'} ${first?.message}`,
    );
  }
  const problem = profilesProblem(profiles);
  if (problem !== undefined) throw new Error(`must obey the rules of profiles: ${problem}`);
  return profiles;
}
