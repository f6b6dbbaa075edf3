/**
 * Every attack by its name, for the process that runs them.
 */
import { ADDRESS_ATTACKS } from './address-attacks.ts';
import type { Attack } from './attack.ts';
import { CACHE_ATTACKS } from './cache-attacks.ts';
import { CUSTOMER_ATTACKS } from './customer-attacks.ts';
import { HTTP_ATTACKS } from './http-attacks.ts';
import { HTTP2_ATTACKS } from './http2-attacks.ts';
import { RTMP_ATTACKS } from './rtmp-attacks.ts';
import { TLS_ATTACKS } from './tls-attacks.ts';

/** All attacks. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  ...HTTP_ATTACKS,
  ...RTMP_ATTACKS,
  ...TLS_ATTACKS,
  ...HTTP2_ATTACKS,
  ...CACHE_ATTACKS,
  ...CUSTOMER_ATTACKS,
  ...ADDRESS_ATTACKS,
};
