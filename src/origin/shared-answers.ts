/**
 * Requests an answer once, however many callers wait for it.
 */
import type { Waiting } from '#hls/hls.ts';
import type { Clock } from '#lib/clock.ts';

/** What an answer must have to be shared. */
export interface Shareable {
  readonly sizeBytes: number;
  /** The number of milliseconds for which it may be given to later callers. */
  readonly keptForMs: number;
}

/** The options of {@link SharedAnswers}. */
export interface SharedAnswersOptions {
  /** The number of bytes that the kept answers may have together. When it is exceeded, the oldest are dropped. */
  readonly maxKeptBytes: number;
  readonly clock: Clock;
}

interface Waiter<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

/** A request in progress, and the callers that wait for its answer. */
interface Question<Answer> {
  readonly controller: AbortController;
  readonly waiters: Set<Waiter<Answer>>;
}

interface Kept<Answer> {
  readonly answer: Answer;
  /** The monotonic time until which it may be given out. */
  readonly until: number;
}

/** Makes one request for all callers that want the same answer, and keeps the answer for later ones. Errors are shared but not kept. */
export class SharedAnswers<Answer extends Shareable> {
  readonly #options: SharedAnswersOptions;
  readonly #questions = new Map<string, Question<Answer>>();
  /** The oldest comes first. */
  readonly #kept = new Map<string, Kept<Answer>>();
  #keptBytes = 0;

  constructor(options: SharedAnswersOptions) {
    this.#options = options;
  }

  /**
   * Gets the answer with this name: at once when it is kept, otherwise from the request in progress or from a new one.
   * @param ask makes a new request; its signal aborts when nobody waits for the answer any more
   * @param waiting the caller's place; its signal is not read when the answer is kept
   * @throws the error of `ask`, or the reason of the caller's signal when that aborts first
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

  /** Aborts a request that nobody waits for. A later call for the same answer makes a new one. */
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
