/**
 * Gate calls: asks a customer's own server whether a viewer with an access key may watch.
 *
 * The answer is valid for the refresh interval of the policy. The server gets one call for all viewers with the same access key, and
 * another shortly before the answer expires, so that admitted viewers do not wait. Each receiver has its own places for calls, shared
 * fairly among networks, so that neither a slow receiver nor a client that invents access keys delays others. On any error nobody is
 * admitted.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { MillraceError } from '#domain/errors.ts';
import type { PlaybackId } from '#domain/ids.ts';
import { DEFAULT_REFRESH_INTERVAL_S, type PlaybackPolicy } from '#domain/playback-policy.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import { FairSlots } from '#lib/fair-slots.ts';
import { atMostEntries } from '#lib/lru-limit.ts';
import type { WatchedStream } from '#live/live.ts';

/** The largest number of remembered answers. When it is exceeded, the one used longest ago is forgotten. */
const MAX_ANSWERS = 50_000;
/** The largest number of concurrent calls to one receiver. */
const MAX_CALLS = 32;
/** The largest number of receivers with calls in progress. */
const MAX_RECEIVERS = 1000;
/** The number of refused access keys that one network may send in a minute. */
const REFUSED_PER_MINUTE = 120;
/** The longest time that a refusal is valid, so that a viewer who then pays is admitted soon. */
const REFUSED_FOR_MS = 10_000;
/** After a failed call, the receiver gets no call about the same access key for this long. */
const FAILED_FOR_MS = 1000;
/** How long before its end an answer is renewed at most. A quarter of the refresh interval is used if that is shorter. */
const RENEWED_BEFORE_MS = 10_000;

/** The question about a viewer. */
export interface GateQuestion {
  readonly stream: WatchedStream;
  readonly playbackId: PlaybackId;
  readonly policy: PlaybackPolicy;
  readonly accessKey: string;
}

/**
 * Calls the receiver of a policy.
 * @param signal aborts when the call's place is given to another network
 * @returns whether the receiver admits the viewer
 * @throws when there is no answer in time, or no valid one
 */
export type AskReceiver = (question: GateQuestion, signal: AbortSignal) => Promise<boolean>;

interface Answer {
  readonly verdict: 'allowed' | 'refused' | 'failed';
  /** Monotonic times: when the answer is renewed, and until when it is valid. */
  readonly renewAt: number;
  readonly until: number;
}

/** A call in progress, which holds a place. */
class Call {
  readonly controller = new AbortController();
  readonly answer: Promise<Answer>;

  constructor(ask: (signal: AbortSignal) => Promise<Answer>) {
    this.answer = ask(this.controller.signal);
    this.answer.catch(() => undefined); // nobody waits for a renewal
  }
}

/** Makes gate calls, and remembers the answers. */
export class GateCalls {
  readonly #ask: AskReceiver;
  readonly #clock: Clock;
  readonly #throttle: AttemptThrottle;
  readonly #answers = new LRUCache<string, Answer>(atMostEntries(MAX_ANSWERS));
  readonly #calls = new Map<string, Call>();
  /** The places of each receiver with calls in progress, by webhook. */
  readonly #receivers = new Map<string, FairSlots<Call>>();

  constructor({ ask, clock }: { readonly ask: AskReceiver; readonly clock: Clock }) {
    this.#ask = ask;
    this.#clock = clock;
    this.#throttle = new AttemptThrottle({ perMinute: REFUSED_PER_MINUTE, clock });
  }

  /** The number of calls in progress. */
  get count(): number {
    return this.#calls.size;
  }

  /**
   * Whether the receiver admits a viewer.
   * @param address the address of the viewer
   * @throws {MillraceError} `playback_check_failed` when the receiver fails or too many viewers wait for it; `too_many_attempts`
   */
  async allows(question: GateQuestion, address: string): Promise<boolean> {
    const name = nameOf(question);
    const known = this.#answers.get(name);
    const now = this.#clock.monotonic();
    if (known === undefined || now >= known.until) return isAllowed(await this.#callOf(name, question, address).answer);
    if (known.verdict === 'allowed' && now >= known.renewAt) this.#renew(name, question, address, known);
    return isAllowed(known);
  }

  #renew(name: string, question: GateQuestion, address: string, known: Answer): void {
    try {
      void this.#callOf(name, question, address);
    } catch {
      // No place is free. The next request tries again, and the answer is valid no longer than before.
      this.#answers.set(name, { ...known, renewAt: this.#clock.monotonic() + FAILED_FOR_MS });
    }
  }

  #callOf(name: string, question: GateQuestion, address: string): Call {
    const underWay = this.#calls.get(name);
    if (underWay !== undefined) return underWay;
    const retryAfterS = this.#throttle.retryAfterS(address);
    if (retryAfterS > 0 && this.#answers.get(name)?.verdict !== 'allowed') {
      throw new MillraceError(
        'too_many_attempts',
        'Too many wrong access keys came from this network; try again later.',
        {
          retryAfterS,
        },
      );
    }
    const receiver = question.policy.webhookId ?? '';
    const places = this.#receivers.get(receiver) ?? new FairSlots<Call>(MAX_CALLS);
    if (!this.#receivers.has(receiver) && this.#receivers.size >= MAX_RECEIVERS) throw checkFailed();
    const call: Call = new Call(async (signal) => {
      try {
        await Promise.resolve(); // the call gets its place first
        return await this.#answerTo(name, question, address, signal);
      } finally {
        places.leave(call);
        if (places.size === 0) this.#receivers.delete(receiver);
        if (this.#calls.get(name) === call) this.#calls.delete(name);
      }
    });
    const admission = places.enter(call, address);
    if (!admission.admitted) {
      call.controller.abort(checkFailed());
      throw checkFailed();
    }
    admission.evicted?.controller.abort(checkFailed());
    this.#receivers.set(receiver, places);
    this.#calls.set(name, call);
    return call;
  }

  async #answerTo(name: string, question: GateQuestion, address: string, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const refreshMs = (question.policy.refreshInterval ?? DEFAULT_REFRESH_INTERVAL_S) * 1000;
    const askedAt = this.#clock.monotonic();
    const before = this.#answers.get(name);
    try {
      const isLetIn = await this.#ask(question, signal);
      if (!isLetIn) this.#throttle.failed(address);
      const answer: Answer = isLetIn
        ? {
            verdict: 'allowed',
            renewAt: askedAt + refreshMs - Math.min(RENEWED_BEFORE_MS, refreshMs / 4),
            until: askedAt + refreshMs,
          }
        : { verdict: 'refused', renewAt: askedAt, until: askedAt + Math.min(REFUSED_FOR_MS, refreshMs) };
      this.#answers.set(name, answer);
      return answer;
    } catch (error) {
      if (signal.aborted) throw checkFailed(error);
      const now = this.#clock.monotonic();
      // The previous answer, if there is one, stays valid to its end. In the meantime the receiver may recover.
      const stillCounts = before !== undefined && before.verdict === 'allowed' && now < before.until;
      const answer: Answer = stillCounts
        ? { ...before, renewAt: now + FAILED_FOR_MS }
        : { verdict: 'failed', renewAt: now, until: now + FAILED_FOR_MS };
      this.#answers.set(name, answer);
      return answer;
    }
  }
}

/** @throws {MillraceError} `playback_check_failed` */
function isAllowed({ verdict }: Answer): boolean {
  if (verdict === 'failed') throw checkFailed();
  return verdict === 'allowed';
}

/** Makes the error for a viewer when the owner's server could not be asked. */
export function checkFailed(cause?: unknown): MillraceError {
  return new MillraceError(
    'playback_check_failed',
    'The server that decides who may watch this stream does not answer correctly; try again soon.',
    { cause, retryAfterS: 1 },
  );
}

/** The key under which the answer is remembered. It is equal for equal questions under equal policies. */
function nameOf({ playbackId, policy, accessKey }: GateQuestion): string {
  const { webhookId, webhookContext, refreshInterval } = policy;
  return hash('sha256', JSON.stringify([playbackId, webhookId, webhookContext, refreshInterval, accessKey]), 'base64');
}
