/**
 * Gate calls: asks a customer's own server whether a viewer with some access key may watch.
 *
 * Its answer counts for the refresh interval of the policy. It is asked once for all who show the same access key, and again shortly before
 * the answer runs out, so that viewers who may go on notice nothing. Each receiver has places of its own, shared fairly among networks, so
 * that a slow one, or somebody who invents access keys, holds up nobody else. Whatever goes wrong, nobody is let in.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { MillraceError } from '#domain/errors.ts';
import type { PlaybackId } from '#domain/ids.ts';
import { DEFAULT_REFRESH_INTERVAL_S, type PlaybackPolicy } from '#domain/playback-policy.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import { FairSlots } from '#lib/fair-slots.ts';
import type { WatchedStream } from '#live/live.ts';

/** Answers remembered; beyond this the one that was used longest ago is asked for again. */
const MAX_ANSWERS = 50_000;
/** Calls under way to one receiver. */
const MAX_CALLS = 32;
/** Receivers whose calls are counted at one time; each has a call under way. */
const MAX_RECEIVERS = 1000;
/** How many access keys that are refused one network may show in a minute. */
const REFUSED_PER_MINUTE = 120;
/** A refusal counts for no longer, so that who has paid meanwhile gets in. */
const REFUSED_FOR_MS = 10_000;
/** After a call that failed, the receiver is not asked about the same access key for so long. */
const FAILED_FOR_MS = 1000;
/** How long before its end an answer is asked for again, at most; a quarter of its time where that is shorter. */
const RENEWED_BEFORE_MS = 10_000;

/** What is asked about a viewer. */
export interface GateQuestion {
  readonly stream: WatchedStream;
  readonly playbackId: PlaybackId;
  readonly policy: PlaybackPolicy;
  readonly accessKey: string;
}

/**
 * Asks the receiver of a policy.
 * @param signal aborts when its place is given to somebody else
 * @returns whether it lets the viewer in
 * @throws when there is no answer in time, or none that makes sense
 */
export type AskReceiver = (question: GateQuestion, signal: AbortSignal) => Promise<boolean>;

interface Answer {
  readonly verdict: 'allowed' | 'refused' | 'failed';
  /** Monotonic times: from when on it is asked for again, and until when it counts. */
  readonly renewAt: number;
  readonly until: number;
}

/** A call under way; the holder of a place. */
class Call {
  readonly controller = new AbortController();
  readonly answer: Promise<Answer>;

  constructor(ask: (signal: AbortSignal) => Promise<Answer>) {
    this.answer = ask(this.controller.signal);
    this.answer.catch(() => undefined); // a renewal has nobody who waits
  }
}

/** Asks receivers, and remembers what they said. */
export class GateCalls {
  readonly #ask: AskReceiver;
  readonly #clock: Clock;
  readonly #throttle: AttemptThrottle;
  readonly #answers = new LRUCache<string, Answer>({ max: MAX_ANSWERS });
  readonly #calls = new Map<string, Call>();
  /** The places of each receiver that is being asked, by webhook. */
  readonly #receivers = new Map<string, FairSlots<Call>>();

  constructor({ ask, clock }: { readonly ask: AskReceiver; readonly clock: Clock }) {
    this.#ask = ask;
    this.#clock = clock;
    this.#throttle = new AttemptThrottle({ perMinute: REFUSED_PER_MINUTE, clock });
  }

  /** Calls under way. */
  get count(): number {
    return this.#calls.size;
  }

  /**
   * Whether the receiver lets a viewer in.
   * @param address of the viewer
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
      // There is no place at the moment. The next request tries again, and the answer counts no longer than before.
      this.#answers.set(name, { ...known, renewAt: this.#clock.monotonic() + FAILED_FOR_MS });
    }
  }

  #callOf(name: string, question: GateQuestion, address: string): Call {
    const underWay = this.#calls.get(name);
    if (underWay !== undefined) return underWay;
    const retryAfterS = this.#throttle.retryAfterS(address);
    if (retryAfterS > 0 && this.#answers.get(name)?.verdict !== 'allowed') {
      throw new MillraceError('too_many_attempts', 'Too many wrong access keys came from this network; try later.', {
        retryAfterS,
      });
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
      // The answer before, if there is one, counts to its end; meanwhile the receiver may come back.
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

/** The error for a viewer whom the owner's server could not be asked about. */
export function checkFailed(cause?: unknown): MillraceError {
  return new MillraceError(
    'playback_check_failed',
    'The server that decides who may watch this stream does not answer as it should; try again soon.',
    { cause, retryAfterS: 1 },
  );
}

/** The same for who is asked about the same, under the same policy. */
function nameOf({ playbackId, policy, accessKey }: GateQuestion): string {
  const { webhookId, webhookContext, refreshInterval } = policy;
  return hash('sha256', JSON.stringify([playbackId, webhookId, webhookContext, refreshInterval, accessKey]), 'base64');
}
