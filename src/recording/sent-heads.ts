/**
 * The memory of the heads of MP4s that are being sent. A viewer may read a head as slowly as it likes, and the head of 24 hours has 66 MB.
 */
import { MillraceError } from '#domain/errors.ts';
import { createMediaMemory } from '#hls/media-memory.ts';
import { networksOf } from '#lib/network-of.ts';

/** The most memory that these heads take together. The largest possible head, that of 48 hours, takes half of it. */
const MAX_BYTES = 256 * 1024 * 1024;

/** A head that is being sent to at least one viewer. */
interface SentHead {
  readonly senders: Set<() => void>;
  /** Frees the memory. */
  readonly account: Disposable;
}

/**
 * Counts the memory of each head while it is sent. A head counts once, however many viewers it is sent to, and is charged to the site
 * (IPv4 /24, IPv6 /48) of the first of them. When memory is short, the site with the most loses its largest head, so a site that asks for
 * too much competes only with itself.
 */
export class SentHeads {
  readonly #memory: ReturnType<typeof createMediaMemory>;
  readonly #heads = new Map<Uint8Array, SentHead>();

  /** @param maxBytes the most memory that heads take together */
  constructor(maxBytes = MAX_BYTES) {
    this.#memory = createMediaMemory(maxBytes);
  }

  /** The memory of all heads that are being sent, in bytes. */
  get bytes(): number {
    return this.#memory.usedBytes;
  }

  /**
   * Counts a head until the result is disposed.
   * @param onLost called when the memory is needed for another head; the sender must then let go of this one
   * @throws {MillraceError} `too_many_viewers` when, with this head, its site has the most, and no other head of the site is as large
   */
  send(head: Uint8Array, address: string, onLost: () => void): Disposable {
    const sent = this.#heads.get(head) ?? this.#take(head, address);
    // Two viewers may pass the same `onLost`. The set must hold an entry for each.
    const sender = (): void => onLost();
    sent.senders.add(sender);
    return {
      [Symbol.dispose]: () => {
        if (!sent.senders.delete(sender) || sent.senders.size > 0) return;
        this.#forget(head, sent);
      },
    };
  }

  #take(head: Uint8Array, address: string): SentHead {
    const senders = new Set<() => void>();
    const account = this.#memory.open(
      { id: networksOf(address).site, quotaBytes: Number.POSITIVE_INFINITY },
      {
        giveBackRetired: () => false,
        giveUp: () => {
          this.#forget(head, sent);
          for (const onLost of senders) onLost();
        },
      },
    );
    const sent: SentHead = { senders, account };
    if (!account.take(head.length)) {
      account[Symbol.dispose]();
      throw new MillraceError(
        'too_many_viewers',
        'Too many MP4s are being sent to your network; read those, then try again.',
        { retryAfterS: 5 },
      );
    }
    this.#heads.set(head, sent);
    return sent;
  }

  #forget(head: Uint8Array, sent: SentHead): void {
    if (this.#heads.get(head) === sent) this.#heads.delete(head);
    sent.account[Symbol.dispose]();
  }
}
