/**
 * AMF0, the encoding of RTMP's commands and metadata (Adobe AMF0 specification).
 *
 * A date is read as its milliseconds, XML as its text, and a typed object as an object without a type.
 */
import { RtmpError } from './rtmp-error.ts';

/** A value of AMF0. Objects are maps, so that no name that a peer sends can reach a prototype. */
export type AmfValue = number | boolean | string | null | undefined | AmfObject | readonly AmfValue[];
/** An object or an associative array. */
export type AmfObject = ReadonlyMap<string, AmfValue>;

const TYPE = {
  number: 0,
  boolean: 1,
  string: 2,
  object: 3,
  null: 5,
  undefined: 6,
  ecmaArray: 8,
  objectEnd: 9,
  strictArray: 10,
  date: 11,
  longString: 12,
  unsupported: 13,
  xml: 15,
  typedObject: 16,
} as const;

/** The deepest nesting of values. The metadata of encoders has three levels. */
const MAX_DEPTH = 16;

/**
 * Decodes every value of a message, in order.
 * @param maxValues the most values that the message may contain, nested ones included: a value can take one byte, so a short message can
 *   contain very many
 * @throws {RtmpError} `amf_invalid` when the bytes are truncated, nest too deeply, or contain too many values or a type that no encoder
 *   sends
 */
export function decodeAmf0(bytes: Buffer, maxValues = Number.POSITIVE_INFINITY): AmfValue[] {
  const reader = new Amf0Reader(bytes, maxValues);
  const values: AmfValue[] = [];
  while (!reader.isAtEnd) values.push(reader.value(0));
  return values;
}

/** Encodes values, in order. Objects are written as anonymous objects. */
export function encodeAmf0(...values: readonly AmfValue[]): Buffer {
  return Buffer.concat(values.map(encodeValue));
}

class Amf0Reader {
  readonly #bytes: Buffer;
  #at = 0;
  #valuesLeft: number;

  constructor(bytes: Buffer, maxValues: number) {
    this.#bytes = bytes;
    this.#valuesLeft = maxValues;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  value(depth: number): AmfValue {
    if (depth > MAX_DEPTH) throw new RtmpError('amf_invalid', `AMF nests deeper than ${MAX_DEPTH}`);
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) throw new RtmpError('amf_invalid', 'too many AMF values in one message');
    const type = this.#bytes[this.#take(1)]!;
    switch (type) {
      case TYPE.number:
        return this.#bytes.readDoubleBE(this.#take(8));
      case TYPE.boolean:
        return this.#bytes[this.#take(1)] !== 0;
      case TYPE.string:
        return this.#text(this.#uint16());
      case TYPE.longString:
      case TYPE.xml:
        return this.#text(this.#uint32());
      case TYPE.object:
        return this.#object(depth);
      case TYPE.typedObject:
        this.#take(this.#uint16()); // the class name
        return this.#object(depth);
      case TYPE.ecmaArray:
        this.#uint32(); // a hint at the number of entries; encoders get it wrong (OBS counts 20 whatever it sends)
        return this.#object(depth);
      case TYPE.strictArray:
        return this.#strictArray(depth);
      case TYPE.date: {
        const milliseconds = this.#bytes.readDoubleBE(this.#take(8));
        this.#take(2); // the time zone, always zero
        return milliseconds;
      }
      case TYPE.null:
        return null;
      case TYPE.undefined:
      case TYPE.unsupported:
        return undefined;
      default:
        throw new RtmpError('amf_invalid', `AMF0 type ${type} is not supported`);
    }
  }

  #object(depth: number): AmfObject {
    const entries = new Map<string, AmfValue>();
    for (;;) {
      const name = this.#text(this.#uint16());
      if (name === '' && this.#bytes[this.#at] === TYPE.objectEnd) {
        this.#at += 1;
        return entries;
      }
      entries.set(name, this.value(depth + 1));
    }
  }

  #strictArray(depth: number): AmfValue[] {
    const count = this.#uint32();
    const values: AmfValue[] = [];
    // Each entry takes at least a byte, so a false count ends where the bytes end. No memory is allocated for the count.
    for (let index = 0; index < count; index++) values.push(this.value(depth + 1));
    return values;
  }

  #text(length: number): string {
    const start = this.#take(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  #uint16(): number {
    return this.#bytes.readUInt16BE(this.#take(2));
  }

  #uint32(): number {
    return this.#bytes.readUInt32BE(this.#take(4));
  }

  /** Skips `length` bytes, and returns where they start. */
  #take(length: number): number {
    const start = this.#at;
    if (length > this.#bytes.length - start) throw truncated();
    this.#at = start + length;
    return start;
  }
}

function truncated(): RtmpError {
  return new RtmpError('amf_invalid', 'AMF ends in the middle of a value');
}

function encodeValue(value: AmfValue): Buffer {
  if (value === undefined) return Buffer.of(TYPE.undefined);
  if (value === null) return Buffer.of(TYPE.null);
  if (typeof value === 'boolean') return Buffer.of(TYPE.boolean, value ? 1 : 0);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(9);
    bytes.writeDoubleBE(value, 1);
    return bytes;
  }
  if (typeof value === 'string') return encodeText(value);
  if (isArray(value))
    return Buffer.concat([Buffer.of(TYPE.strictArray), uint32(value.length), ...value.map(encodeValue)]);
  const entries = [...value].flatMap(([name, entry]) => [shortText(Buffer.from(name)), encodeValue(entry)]);
  return Buffer.concat([Buffer.of(TYPE.object), ...entries, Buffer.of(0, 0, TYPE.objectEnd)]);
}

/** `Array.isArray` does not narrow readonly arrays. */
function isArray(value: AmfObject | readonly AmfValue[]): value is readonly AmfValue[] {
  return Array.isArray(value);
}

function encodeText(value: string): Buffer {
  const text = Buffer.from(value);
  if (text.length <= 0xffff) return Buffer.concat([Buffer.of(TYPE.string), shortText(text)]);
  return Buffer.concat([Buffer.of(TYPE.longString), uint32(text.length), text]);
}

function shortText(text: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length);
  return Buffer.concat([length, text]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
