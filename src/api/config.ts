/**
 * Settings of the API.
 */

import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { DEFAULT_PROFILES, type Profile } from '#domain/profile.ts';
import { integer, type SettingValues } from '#lib/setting.ts';
import { profilesProblem } from './profile-rules.ts';
import { MAX_PROFILES, ProfileSchema } from './schemas.ts';

/** What an operator may set. */
export const apiSettings = {
  prefix: {
    name: 'API_PREFIX',
    fallback: '/api',
    help: 'Path the API lies under; / for none',
    parse: parsePrefix,
  },
  defaultProfiles: {
    name: 'DEFAULT_PROFILES',
    fallback: JSON.stringify(DEFAULT_PROFILES),
    help: 'Profiles of a stream created without any, as a JSON list',
    parse: parseProfiles,
  },
  wrongKeysPerMinute: integer(
    'WRONG_KEYS_PER_MINUTE',
    '20',
    'Wrong API and stream keys allowed per minute and address (an IPv6 /64 is one), over HTTP and RTMP together',
    { min: 1, max: 100_000 },
  ),
};

/** Their values. */
export type ApiSettings = SettingValues<typeof apiSettings>;

function parsePrefix(value: string): string {
  const prefix = value.replace(/\/$/, '');
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(prefix)) throw new Error('must be a path such as /api, or /');
  if (/^\/(hls|play|healthz)(\/|$)/.test(prefix))
    throw new Error('must not start with /hls, /play or /healthz: those are taken');
  return prefix;
}

function parseProfiles(value: string): readonly Profile[] {
  let profiles: unknown;
  try {
    profiles = JSON.parse(value);
  } catch {
    throw new Error(
      'must be a JSON list of profiles, such as [{"name":"720p","bitrate":2000000,"fps":30,"width":1280,"height":720}]',
    );
  }
  const schema = Type.Array(ProfileSchema, { maxItems: MAX_PROFILES });
  const check = Compile(schema);
  if (!check.Check(profiles)) {
    const first = check.Errors(profiles)[0];
    throw new Error(
      `must be a JSON list of profiles as POST /stream takes them; ${first?.instancePath || 'it'} ${first?.message}`,
    );
  }
  const problem = profilesProblem(profiles);
  if (problem !== undefined) throw new Error(`must keep the rules of profiles: ${problem}`);
  return profiles;
}
