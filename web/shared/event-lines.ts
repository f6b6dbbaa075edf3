/**
 * Reads Server-Sent Events from text that arrives in pieces. `EventSource` cannot send a token, nor tell why it failed.
 */

/** One event as it was sent. */
export interface SentEvent {
  readonly type: string;
  readonly data: string;
}

/** Text without the end of an event that is longer than this is not what our server sends. */
const MAX_PENDING = 1_000_000;

/** Takes pieces of text and gives the events that they complete. */
export class EventLines {
  #pending = '';
  #lastId: string | undefined;

  /** The id to continue after. The server sends the first one before any event. Undefined until then. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** @throws {Error} when an event does not end */
  take(piece: string): readonly SentEvent[] {
    this.#pending += piece;
    const blocks = this.#pending.split('\n\n');
    this.#pending = blocks.pop() ?? '';
    if (this.#pending.length > MAX_PENDING) throw new Error('an event does not end');
    return blocks.flatMap((block) => this.#eventOf(block) ?? []);
  }

  /** The event of a block of lines; undefined for comments and settings. */
  #eventOf(block: string): SentEvent | undefined {
    let type = 'message';
    const data: string[] = [];
    for (const line of block.split('\n')) {
      const [, name = '', value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
      if (name === 'id') this.#lastId = value;
      else if (name === 'event') type = value;
      else if (name === 'data') data.push(value);
    }
    return data.length === 0 ? undefined : { type, data: data.join('\n') };
  }
}
