import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type AmfValue, decodeAmf0, encodeAmf0 } from './amf0.ts';
import { RtmpError } from './rtmp-error.ts';

const scalar = fc.oneof(
  fc.double(),
  fc.boolean(),
  fc.string({ unit: 'grapheme' }),
  fc.constant(null),
  fc.constant(undefined),
);
const { value: anyValue } = fc.letrec<{ value: AmfValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 5 },
    scalar as fc.Arbitrary<AmfValue>,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.string(), tie('value')), { maxLength: 4 }).map((entries) => new Map(entries)),
  ),
}));

const invalid = { name: 'RtmpError', code: 'amf_invalid' };

describe('AMF0', () => {
  it('reads back whatever it wrote', () => {
    fc.assert(
      fc.property(fc.array(anyValue, { maxLength: 4 }), (values) => {
        assert.deepEqual(decodeAmf0(encodeAmf0(...values)), values);
      }),
    );
  });

  it('reads any bytes as values or throws its own error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeAmf0(Buffer.from(bytes));
        } catch (error) {
          assert.ok(error instanceof RtmpError && error.code === 'amf_invalid', String(error));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('reads truncated values up to where they are complete, or throws its own error', () => {
    const whole = encodeAmf0('connect', 1, new Map<string, AmfValue>([['list', ['a', 2, null]]]));
    for (let length = 0; length < whole.length; length++) {
      try {
        assert.ok(decodeAmf0(whole.subarray(0, length)).length < 3);
      } catch (error) {
        assert.ok(error instanceof RtmpError, String(error));
      }
    }
  });

  it('reads a strict array, as OBS sends in connect (mediamtx#3188)', () => {
    assert.deepEqual(decodeAmf0(Buffer.from('0a000000020200046176303102000468766331', 'hex')), [['av01', 'hvc1']]);
  });

  it('does not trust the length of an array (baresip/re#441)', () => {
    assert.throws(() => decodeAmf0(Buffer.from('0affffffff05', 'hex')), invalid);
    // An ECMA array's count is only a hint.
    assert.deepEqual(decodeAmf0(Buffer.from('08ffffffff000161050000 09'.replace(' ', ''), 'hex')), [
      new Map([['a', null]]),
    ]);
  });

  it('refuses an unknown type with its own error (node-rtsp-rtmp-server#2)', () => {
    for (const type of [4, 7, 14, 17, 0x80, 0xff]) assert.throws(() => decodeAmf0(Buffer.of(type)), invalid);
  });

  it('refuses nesting without end', () => {
    const deep = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from('03000161', 'hex')));
    assert.throws(() => decodeAmf0(deep), invalid);
  });

  it('refuses more values than the given limit, nested or not, because each may be a single byte', () => {
    const NULL = 5;
    assert.equal(decodeAmf0(Buffer.alloc(100, NULL), 100).length, 100);
    assert.throws(() => decodeAmf0(Buffer.alloc(101, NULL), 100), invalid);
    const array = Buffer.concat([Buffer.from('0a00000064', 'hex'), Buffer.alloc(100, NULL)]);
    assert.equal(decodeAmf0(array, 101).length, 1);
    assert.throws(() => decodeAmf0(array, 100), invalid);
  });

  it('keeps names that a peer sends away from prototypes', () => {
    const [object] = decodeAmf0(encodeAmf0(new Map([['__proto__', new Map([['polluted', true]])]])));
    assert.ok(object instanceof Map && object.has('__proto__'));
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  it('reads dates as milliseconds, XML and long strings as text, typed objects as objects', () => {
    assert.deepEqual(decodeAmf0(Buffer.from('0b42374876e800000000000c000000026869', 'hex')), [1e11, 'hi']);
    assert.deepEqual(decodeAmf0(Buffer.from('0f000000026869', 'hex')), ['hi']);
    assert.deepEqual(decodeAmf0(Buffer.from('1000024142000161050000 09'.replace(' ', ''), 'hex')), [
      new Map([['a', null]]),
    ]);
    const long = 'x'.repeat(70_000);
    assert.deepEqual(decodeAmf0(encodeAmf0(long)), [long]);
  });
});
