import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ms } from '#lib/units.ts';
import { createLogger } from '#telemetry/logger.ts';
import { Flooders } from './flooders.ts';

function started() {
  let time = 0;
  const lines: string[] = [];
  const flooders = new Flooders({
    clock: { now: () => ms(0), monotonic: () => ms(time) },
    isTrustedProxy: (address) => address === '10.0.0.1',
    logger: createLogger('info', { write: (line) => void lines.push(line) }),
  });
  return {
    flooders,
    lines,
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
  };
}

describe('flooders', () => {
  it('are refused for ten seconds after their last flood, and no other host is', () => {
    const { flooders, pass } = started();
    flooders.add('192.0.2.1', 'pipelined_requests');
    assert.deepEqual([flooders.has('192.0.2.1'), flooders.has('192.0.2.2')], [true, false]);
    pass(9000);
    flooders.add('192.0.2.1', 'pipelined_requests');
    pass(9999);
    assert.equal(flooders.has('192.0.2.1'), true);
    pass(1);
    assert.equal(flooders.has('192.0.2.1'), false);
  });

  it('include the whole IPv6 /64 of an address', () => {
    const { flooders } = started();
    flooders.add('2001:db8::1', 'requests_cancelled');
    assert.deepEqual([flooders.has('2001:db8::2'), flooders.has('2001:db8:0:1::1')], [true, false]);
  });

  it('are never trusted proxies, which carry the requests of many', () => {
    const { flooders } = started();
    flooders.add('10.0.0.1', 'invalid_frames');
    assert.equal(flooders.has('10.0.0.1'), false);
  });

  it('are logged once, however many there are, and only the latest 10,000 are remembered', () => {
    const { flooders, lines } = started();
    const address = (index: number) => `10.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
    for (let index = 0; index <= 10_000; index += 1) flooders.add(address(index), 'bytes_without_requests');
    assert.deepEqual(
      [flooders.has(address(0)), flooders.has(address(1)), flooders.has(address(10_000))],
      [false, true, true],
    );
    assert.equal(lines.length, 1);
    flooders[Symbol.dispose]();
    assert.equal(lines.length, 2);
    assert.match(lines[1]!, /"count":10000/);
  });
});
