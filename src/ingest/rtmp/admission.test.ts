import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DAY_MS, ms } from '#lib/units.ts';
import { Admission, type AdmissionSettings } from './admission.ts';

const ENCODER = '203.0.113.7';

/** An admission with a clock that the test moves, and functions that open connections with ids counted up. */
function opened(overrides: Partial<AdmissionSettings> = {}) {
  const time = { ms: 0 };
  const clock = { now: () => ms(0), monotonic: () => ms(time.ms) };
  const settings = {
    rtmpMaxConnections: 100,
    rtmpMaxUnauthenticated: 40,
    rtmpMaxPerAddress: 40,
    rtmpConnectionsPerMinute: 1_000_000,
    ...overrides,
  };
  const admission = new Admission(settings, clock);
  let lastId = 0;
  const enter = (address: string) => {
    lastId += 1;
    const decision = admission.enter(lastId, address);
    return { id: lastId, why: decision.admitted ? undefined : decision.why, ...decision };
  };
  const publish = (address: string) => {
    const { id } = enter(address);
    admission.accepted(id, address);
    return id;
  };
  /** Publishes from an address, and disconnects. */
  const publishOnce = (address: string) => admission.leave(publish(address), address);
  return { admission, time, enter, publish, publishOnce };
}

/** The address of a stranger; each is in a /24 of its own. */
const stranger = (index: number) => `10.${index >> 8}.${index & 255}.1`;

describe('an encoder that published before', () => {
  it('gets back while strangers from thousands of networks hold every place they can have', () => {
    const { time, enter, publishOnce } = opened();
    publishOnce(ENCODER);
    for (let index = 0; index < 5000; index++) {
      time.ms += 1;
      enter(stranger(index));
    }
    assert.equal(enter('198.51.100.1').why, 'too_many_unauthenticated', 'another stranger gets no place');
    assert.equal(enter(ENCODER).admitted, true);
  });

  it('gets back when no connection is free, in the place of the stranger that came first', () => {
    const { enter, publish, publishOnce } = opened({ rtmpMaxConnections: 20 });
    publishOnce(ENCODER);
    for (let index = 0; index < 10; index++) publish(`192.0.2.${index}`);
    const first = enter(stranger(0)).id;
    for (let index = 1; index < 10; index++) enter(stranger(index));
    assert.equal(enter(stranger(10)).why, 'too_many_connections');
    const back = enter(ENCODER);
    assert.deepEqual([back.admitted, back.admitted && back.evicted], [true, first]);
  });

  it('gets back while strangers connect faster than they may', () => {
    const { enter, publishOnce } = opened({ rtmpConnectionsPerMinute: 10 });
    publishOnce(ENCODER);
    const refusals = Array.from({ length: 500 }, (_, index) => enter(stranger(index)).why);
    assert.equal(refusals.at(-1), 'too_many_connections_a_minute');
    // The connections of its neighbours in the same /24 do not count against it either.
    for (let host = 10; host < 200; host++) enter(`203.0.113.${host}`);
    assert.equal(enter(ENCODER).admitted, true);
  });

  it('is remembered for a day from the end of its publish, however long that lasted', () => {
    const { admission, time, publish } = opened();
    const id = publish(ENCODER);
    time.ms += 3 * DAY_MS;
    admission.leave(id, ENCODER);
    time.ms += DAY_MS - 1;
    assert.equal(admission.isKnown(ENCODER), true);
  });

  it('is remembered for a day, and as long as it is one of the ten thousand latest', () => {
    const { admission, time, publishOnce } = opened();
    publishOnce(ENCODER);
    time.ms += DAY_MS - 1;
    assert.equal(admission.isKnown(ENCODER), true);
    time.ms += 1;
    assert.equal(admission.isKnown(ENCODER), false);
    publishOnce(ENCODER);
    for (let index = 0; index < 9_999; index++) publishOnce(stranger(index));
    assert.equal(admission.isKnown(ENCODER), true);
    publishOnce(stranger(9_999));
    assert.equal(admission.isKnown(ENCODER), false);
  });
});

describe('connections that do not publish', () => {
  it('are evicted from the network that has the most of them', () => {
    const { enter } = opened({ rtmpMaxUnauthenticated: 8 });
    const first = enter('192.0.2.1').id;
    for (let host = 2; host <= 8; host++) enter(`192.0.2.${host}`);
    assert.equal(enter('192.0.2.9').why, 'too_many_unauthenticated', 'one /24 only competes with itself');
    const other = enter('198.51.100.1');
    assert.deepEqual([other.admitted, other.admitted && other.evicted], [true, first]);
  });

  it('need no place while they publish, and need one again after that', () => {
    const { admission, enter, publish } = opened({ rtmpMaxUnauthenticated: 2 });
    const publishers = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map(publish);
    enter(stranger(1));
    enter(stranger(2));
    assert.deepEqual(admission.unpublished(publishers[0]!, '192.0.2.1'), {
      admitted: false,
      why: 'too_many_unauthenticated',
    });
  });

  it('give their place back when they are gone', () => {
    const { admission, enter } = opened({ rtmpMaxUnauthenticated: 1, rtmpMaxConnections: 1, rtmpMaxPerAddress: 1 });
    const { id } = enter(ENCODER);
    assert.equal(enter(ENCODER).admitted, false);
    admission.leave(id, ENCODER);
    admission.leave(id, ENCODER);
    assert.equal(enter(ENCODER).admitted, true);
    assert.equal(enter(ENCODER).why, 'too_many_from_one_address');
  });
});

describe('new connections', () => {
  const refusedOf = (addresses: readonly string[], overrides: Partial<AdmissionSettings> = {}) => {
    const { admission, enter } = opened({ rtmpConnectionsPerMinute: 10, ...overrides });
    return addresses.filter((address) => {
      const { id, why } = enter(address);
      admission.leave(id, address);
      return why === 'too_many_connections_a_minute';
    }).length;
  };
  const addresses = (count: number, addressOf: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => addressOf(index));

  it('of one address are limited to a number a minute', () => {
    assert.equal(refusedOf(addresses(30, () => ENCODER)), 20);
    assert.equal(refusedOf(addresses(30, (index) => `2001:db8:1:2::${index + 1}`)), 20);
  });

  it('of one site are limited, however many hosts it has', () => {
    assert.equal(refusedOf(addresses(100, (index) => `192.0.2.${index}`)), 60);
    assert.equal(refusedOf(addresses(100, (index) => `2001:db8:1:${index.toString(16)}::1`)), 60);
  });

  it('of all strangers together are limited', () => {
    assert.equal(refusedOf(addresses(1000, stranger)), 1000 - 2 * 40);
  });
});
