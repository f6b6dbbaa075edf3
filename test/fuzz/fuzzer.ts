/**
 * Feeds a target with mutated inputs, mutates those further that lead to new behaviour, and reports those that break a promise.
 */
import type { Finding } from './finding.ts';
import { Mutator } from './mutator.ts';
import { Random } from './random.ts';
import { behaviour, DEFAULT_MAX_BYTES, type Reader, type Target } from './target.ts';

/** The longest time that reading an input may take, because it blocks the event loop. */
const SLOW_MS = 10;
/** How often a slow input is read again: a machine is slow at times, but a slow parser is slow every time. */
const REPEATS = 8;
/** How many inputs are kept besides the recorded ones. Beyond it a new input replaces one of them. */
const MAX_KEPT = 2000;
/** How many kinds of behaviour are remembered. A target that tells too many apart must not fill the memory. */
const MAX_KNOWN = 100_000;
/** The most findings that are reported for one target. */
const MAX_FINDINGS = 20;
/** How many lines of the stack a finding has. */
const STACK_LINES = 20;

/** What a fuzzer is made with. */
export interface FuzzerOptions {
  readonly seed: number;
  /** Monotonic time in milliseconds; called twice for each input. */
  readonly now: () => number;
  /** How long this thread was busy, in milliseconds. Inputs that seemed slow are measured with it, because it does not count waiting. */
  readonly busyMs: () => number;
  /** Called with every input before it is read, so that an input that never ends is known. */
  readonly onInput?: (input: Buffer) => void;
}

/** The result of a run. */
export interface FuzzReport {
  readonly inputs: number;
  /** The time of the slowest input, in milliseconds: the shortest of all times that it was read. */
  readonly slowestMs: number;
  readonly findings: readonly Finding[];
}

type Outcome =
  | {
      readonly type: 'fine';
      /** False when the input was refused with an error that the target expects. */
      readonly accepted: boolean;
      readonly behaviour: number;
      readonly ms: number;
    }
  | { readonly type: 'crash'; readonly error: unknown };

/** Fuzzes one target. */
export class Fuzzer {
  readonly #target: Target;
  readonly #reader: Reader;
  readonly #now: () => number;
  readonly #busyMs: () => number;
  readonly #onInput: ((input: Buffer) => void) | undefined;
  readonly #random: Random;
  readonly #mutator: Mutator;
  readonly #kept: Uint8Array[];
  readonly #known = new Set<number>();
  readonly #findings = new Map<string, Finding>();
  #inputs = 0;
  #slowestMs = 0;

  constructor(target: Target, reader: Reader, { seed, now, busyMs, onInput }: FuzzerOptions) {
    this.#target = target;
    this.#reader = reader;
    this.#now = now;
    this.#busyMs = busyMs;
    this.#onInput = onInput;
    this.#random = new Random(seed);
    this.#mutator = new Mutator({
      random: this.#random,
      dictionary: (target.dictionary ?? []).map((token) => Buffer.from(token)),
      maxBytes: target.maxBytes ?? DEFAULT_MAX_BYTES,
    });
    this.#kept = [...target.corpus];
  }

  get report(): FuzzReport {
    return { inputs: this.#inputs, slowestMs: this.#slowestMs, findings: [...this.#findings.values()] };
  }

  /** Reads the next `count` inputs. The very first inputs are the recorded ones. */
  async run(count: number): Promise<void> {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0; // most inputs end in an error, and half of its cost is its stack
    try {
      for (let done = 0; done < count; done++) {
        const tried = this.#next();
        if (tried !== undefined) await tried;
      }
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }

  /** @returns a promise only when there is something to wait for: awaiting every input would cost more than most parsers do */
  #next(): Promise<void> | undefined {
    const input = this.#nextInput();
    this.#inputs += 1;
    this.#onInput?.(input);
    const outcome = attempt(this.#target, this.#reader, input, this.#now);
    if (outcome instanceof Promise) return outcome.then((settled) => this.#judge(input, settled));
    return this.#judge(input, outcome);
  }

  #nextInput(): Buffer {
    const recorded = this.#target.corpus[this.#inputs];
    if (recorded !== undefined) return Buffer.from(recorded);
    return this.#mutator.mutate(this.#random.of(this.#kept), this.#random.of(this.#kept));
  }

  #judge(input: Buffer, outcome: Outcome): Promise<void> | undefined {
    if (outcome.type === 'crash') return this.#noteCrash(input, outcome.error);
    if (!this.#known.has(outcome.behaviour) && this.#known.size < MAX_KNOWN) {
      this.#known.add(outcome.behaviour);
      this.#keep(input);
    }
    return outcome.ms > this.#slowestMs ? this.#noteTime(input, outcome.ms) : undefined;
  }

  #keep(input: Buffer): void {
    const copy = Buffer.from(input);
    if (this.#kept.length < this.#target.corpus.length + MAX_KEPT) this.#kept.push(copy);
    else this.#kept[this.#target.corpus.length + this.#random.below(MAX_KEPT)] = copy;
  }

  /** Reads the input once more, this time with a stack trace. */
  async #noteCrash(input: Buffer, first: unknown): Promise<void> {
    Error.stackTraceLimit = STACK_LINES;
    const again = await attempt(this.#target, this.#reader, input, this.#now);
    Error.stackTraceLimit = 0;
    const error = again.type === 'crash' ? again.error : first;
    const what =
      error instanceof Error
        ? (error.stack ?? String(error))
        : `something other than an Error was thrown: ${String(error)}`;
    const once =
      again.type === 'crash' ? '' : 'It happened only the first time, so it depends on what was read before.\n';
    this.#add(`crash ${kindOf(first)}`, { kind: 'crash', target: this.#target.name, input, what: once + what });
  }

  async #noteTime(input: Buffer, firstMs: number): Promise<void> {
    let ms = firstMs;
    for (let repeat = 0; repeat < REPEATS && ms > this.#slowestMs; repeat++) {
      const outcome = await attempt(this.#target, this.#reader, input, this.#busyMs);
      if (outcome.type === 'fine') ms = Math.min(ms, outcome.ms);
    }
    this.#slowestMs = Math.max(this.#slowestMs, ms);
    if (ms <= SLOW_MS) return;
    const what = `Reading it takes ${ms.toFixed(1)} ms or more every time.`;
    this.#add(`slow ${Math.floor(Math.log2(ms))}`, { kind: 'slow', target: this.#target.name, input, what });
  }

  /** @param key the same for all findings of one cause, of which only the first is kept */
  #add(key: string, finding: Finding): void {
    if (this.#findings.has(key) || this.#findings.size >= MAX_FINDINGS) return;
    this.#findings.set(key, { ...finding, input: Buffer.from(finding.input) });
  }
}

/** Reads an input once and returns what happened. It never throws or rejects. */
export function attempt(target: Target, reader: Reader, input: Buffer, now: () => number): Outcome | Promise<Outcome> {
  const startedAt = now();
  const fine = (kind: number, accepted: boolean): Outcome => ({
    type: 'fine',
    accepted,
    behaviour: kind,
    ms: now() - startedAt,
  });
  const failed = (error: unknown): Outcome =>
    target.expected?.some((expected) => error instanceof expected)
      ? fine(kindOf(error), false)
      : { type: 'crash', error };
  try {
    const result = reader.read(input);
    return typeof result === 'number' ? fine(result, true) : result.then((kind) => fine(kind, true), failed);
  } catch (error) {
    return failed(error);
  }
}

/** A number for the kind of an error: its name and its message without digits. */
function kindOf(error: unknown): number {
  if (!(error instanceof Error)) return 0;
  const { name, message } = error;
  let hash = behaviour(name.length, name.charCodeAt(0));
  for (let at = 0; at < message.length && at < 120; at++) {
    const code = message.charCodeAt(at);
    if (code < 48 || code > 57) hash = Math.imul(hash ^ code, 0x01000193);
  }
  return hash;
}
