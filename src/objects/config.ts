/**
 * Settings of `objects`: the bucket in which recordings are stored.
 */
import { Secret } from '#domain/secret.ts';
import { type SettingValues, text } from '#lib/setting.ts';

/** The settings of the bucket that an operator may change. */
export const objectSettings = {
  s3Url: {
    name: 'RECORDINGS_S3_URL',
    fallback: undefined,
    help: 'S3-compatible bucket that keeps recordings, with or without a prefix (https://host/bucket/prefix). When it is not set, recordings stay in their folder',
    parse: parseBucketUrl,
  },
  s3Region: text(
    'RECORDINGS_S3_REGION',
    'us-east-1',
    'Region of the bucket. Many S3-compatible servers accept any value',
  ),
  s3AccessKeyId: text('RECORDINGS_S3_ACCESS_KEY_ID', undefined, 'Access key id for the bucket'),
  s3SecretAccessKey: {
    name: 'RECORDINGS_S3_SECRET_ACCESS_KEY',
    fallback: undefined,
    help: 'Secret access key for the bucket',
    parse: parseSecretKey,
    secret: true,
  },
} as const;

/** The values of the settings. */
export type ObjectSettings = SettingValues<typeof objectSettings>;

/** A path that needs no encoding, so that the signed path is the one in the setting. */
const PATH = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9_.~-]{0,99}){1,10}\/?$/;

function parseBucketUrl(value: string): string {
  const url = URL.parse(value);
  const isUsable =
    url !== null &&
    ['http:', 'https:'].includes(url.protocol) &&
    [url.username, url.password, url.search, url.hash].every((part) => part === '') &&
    PATH.test(url.pathname);
  if (!isUsable) {
    throw new Error('must be the URL of a bucket such as https://s3.example.com/bucket/prefix, without keys in it');
  }
  return url.href.replace(/\/$/, '');
}

function parseSecretKey(value: string): Secret {
  if (!/^[\x21-\x7e]{8,256}$/.test(value)) throw new Error('must be 8 to 256 printable ASCII characters');
  return new Secret(value);
}
