/**
 * Answers that many wait for and that are asked for once.
 */
import type { Waiting } from '#hls/hls.ts';
import type { Clock } from '#lib/clock.ts';

/** An answer as it is shared. */
export interface Shareable {
  readonly sizeBytes: number;
  /** How long those who ask later may have it, in milliseconds. */
  readonly keptForMs: number;
}

/** What sharing takes. */
export interface SharedAnswersOptions {
  /** All answers kept for those who ask later; beyond it the oldest are let go. */
  readonly maxKeptBytes: number;
  readonly clock: Clock;
}

interface Waiter<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

/** A question under way, and who waits for its answer. */
interface Question<Answer> {
  readonly controller: AbortController;
  readonly waiters: Set<Waiter<Answer>>;
}

interface Kept<Answer> {
  readonly answer: Answer;
  /** Monotonic time. */
  readonly until: number;
}

/** Asks once for all who want the same answer, and keeps it for a while for those who come later. Errors are shared but not kept. */
export class SharedAnswers<Answer extends Shareable> {
  readonly #options: SharedAnswersOptions;
  readonly #questions = new Map<string, Question<Answer>>();
  /** The oldest first. */
  readonly #kept = new Map<string, Kept<Answer>>();
  #keptBytes = 0;

  constructor(options: SharedAnswersOptions) {
    this.#options = options;
  }

  /**
   * The answer of that name: a kept one at once, else that of the question under way or of a new one.
   * @param ask its signal aborts when nobody waits any more
   * @param waiting its signal is not read when the answer is kept
   * @throws what asking throws, and the signal's reason when it aborts before
   */
  get(name: string, ask: (signal: AbortSignal) => Promise<Answer>, waiting: Waiting): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const kept = this.#kept.get(name);
      if (kept !== undefined && this.#options.clock.monotonic() < kept.until) {
        resolve(kept.answer);
        return;
      }
      const { signal } = waiting;
      signal.throwIfAborted();
      const question = this.#questions.get(name) ?? this.#ask(name, ask);
      const leave = (): void => {
        signal.removeEventListener('abort', abort);
        question.waiters.delete(waiter);
      };
      const abort = (): void => {
        leave();
        reject(signal.reason);
        if (question.waiters.size === 0) this.#giveUp(name, question);
      };
      const waiter: Waiter<Answer> = {
        resolve: (answer) => {
          leave();
          resolve(answer);
        },
        reject: (reason) => {
          leave();
          reject(reason);
        },
      };
      question.waiters.add(waiter);
      signal.addEventListener('abort', abort);
    });
  }

  #ask(name: string, ask: (signal: AbortSignal) => Promise<Answer>): Question<Answer> {
    const question: Question<Answer> = { controller: new AbortController(), waiters: new Set() };
    this.#questions.set(name, question);
    const finish = (tell: (waiter: Waiter<Answer>) => void): void => {
      if (this.#questions.get(name) === question) this.#questions.delete(name);
      for (const waiter of question.waiters) tell(waiter);
    };
    ask(question.controller.signal).then(
      (answer) => {
        this.#keep(name, answer);
        finish(({ resolve }) => resolve(answer));
      },
      (error: unknown) => finish(({ reject }) => reject(error)),
    );
    return question;
  }

  /** Who asks for the same from now on begins anew. */
  #giveUp(name: string, question: Question<Answer>): void {
    if (this.#questions.get(name) === question) this.#questions.delete(name);
    question.controller.abort();
  }

  #keep(name: string, answer: Answer): void {
    const now = this.#options.clock.monotonic();
    this.#letGo(name);
    if (answer.keptForMs > 0) {
      this.#kept.set(name, { answer, until: now + answer.keptForMs });
      this.#keptBytes += answer.sizeBytes;
    }
    for (const [oldest, { until }] of this.#kept) {
      if (this.#keptBytes <= this.#options.maxKeptBytes && now < until) break;
      this.#letGo(oldest);
    }
  }

  #letGo(name: string): void {
    this.#keptBytes -= this.#kept.get(name)?.answer.sizeBytes ?? 0;
    this.#kept.delete(name);
  }
}
