import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS, GIB } from '#lib/units.ts';
import {
  type Check,
  checkCertificate,
  checkClock,
  checkCpu,
  checkDatabase,
  checkDisk,
  checkEncoder,
  checkIngest,
  checkProxy,
} from './doctor.ts';

test('each check has a state, and says what to do unless it is fine', () => {
  const proxied = { isForwarded: true, isTrusted: true, hasProto: true };
  const reached = { url: 'rtmp://a/live', isReached: true };
  const cases: readonly (readonly [Check, Check['state'], RegExp])[] = [
    [checkDatabase(3), 'ok', /3 ms/],
    [checkDatabase(300), 'warning', /slow/],
    [checkDatabase(3000), 'problem', /slow/],
    [checkDatabase(undefined), 'problem', /log/],
    [checkClock(-200), 'ok', /agree/],
    [checkClock(-2500), 'warning', /2\.5 s behind .* NTP/],
    [checkClock(20_000), 'problem', /20\.0 s ahead of/],
    [checkClock(undefined), 'unknown', /time/],
    [checkClock(0, 400 * DAY_MS), 'problem', /400\.0 days ahead .* nothing expires .* NTP .* delete last-time/],
    [checkDisk(50 * GIB), 'ok', /50\.0 GiB/],
    [checkDisk(2 * GIB), 'warning', /make room/],
    [checkDisk(1000), 'problem', /make room/],
    [checkDisk(undefined), 'unknown', /not known/],
    [checkCpu(1, 4), 'ok', /3\.0 of 4/],
    [checkCpu(3.5, 4), 'warning', /fewer/],
    [checkCpu(9, 4), 'problem', /0\.0 of 4/],
    [checkEncoder(true, 800), 'ok', /0\.8 s/],
    [checkEncoder(true, undefined), 'problem', /no frame/],
    [checkEncoder(false, undefined), 'warning', /omit=optional/],
    [checkIngest([reached]), 'ok', /rtmp:\/\/a\/live/],
    [checkIngest([reached, { url: 'rtmps://b/live', isReached: false }]), 'warning', /not reach rtmps:\/\/b/],
    [checkIngest([]), 'problem', /MILLRACE_RTMP_PORT/],
    [checkProxy({ ...proxied, isForwarded: false }), 'ok', /without a proxy/],
    [checkProxy({ ...proxied, isTrusted: false }), 'problem', /MILLRACE_TRUSTED_PROXIES/],
    [checkProxy({ ...proxied, hasProto: false }), 'warning', /X-Forwarded-Proto/],
    [checkProxy(proxied), 'ok', /trusted proxy/],
    [checkCertificate(undefined, 0), 'ok', /no certificate/],
    [checkCertificate(30 * DAY_MS, 0), 'ok', /30 more days/],
    [checkCertificate(9 * DAY_MS, 0), 'warning', /9 days/],
    [checkCertificate(2 * DAY_MS, 0), 'problem', /2 days/],
    [checkCertificate(0, 2 * DAY_MS), 'problem', /expired/],
  ];
  for (const [check, state, message] of cases) {
    assert.equal(check.state, state, check.message);
    assert.match(check.message, message);
    assert.match(check.message, /^[A-Z0-9].*\.$/);
  }
});
