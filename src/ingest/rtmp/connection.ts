/**
 * One connection, over TCP or TLS: bytes in and out, time limits, and its end, whatever the reason.
 */
import type { Socket } from 'node:net';
import type { PublishGate } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import { ChunkReader } from '#media/rtmp/chunk-reader.ts';
import { ChunkWriter } from '#media/rtmp/chunk-writer.ts';
import { ServerHandshake } from '#media/rtmp/handshake.ts';
import {
  controlMessage,
  MESSAGE,
  type Message,
  readUint32,
  readUserControl,
  USER_CONTROL,
  userControl,
} from '#media/rtmp/message.ts';
import { PayloadMemory } from '#media/rtmp/payload-memory.ts';
import { RtmpError } from '#media/rtmp/rtmp-error.ts';
import type { CountedLevel, CountedLines } from '#telemetry/counted-lines.ts';
import type { Logger } from '#telemetry/logger.ts';
import { Allowance } from './allowance.ts';
import {
  ABORT_COUNTS_AS,
  CLOSE_WITHIN_MS,
  LARGE_READ_BYTES,
  MAX_BYTES_A_TURN,
  MAX_CHUNK_STREAMS,
  MAX_CONTROL_MESSAGES_PER_S,
  MAX_INCOMPLETE_BYTES,
  MAX_MEDIA_MESSAGES_PER_S,
  MAX_MESSAGE_BYTES,
  MAX_MESSAGES_A_TURN,
  MAX_NEW_STARTS_PER_S,
  MAX_OUTPUT_BYTES,
  MAX_SMALL_READS_PER_SWEEP,
  MAX_TURN_MS,
  MAX_UNAUTHENTICATED_MESSAGE_BYTES,
  MAX_WORK_BEFORE_ACCEPTED,
  PING_AFTER_MS,
  type RtmpScheme,
  type RtmpSettings,
  SMALL_READ_BYTES,
  WINDOW_BYTES,
} from './config.ts';
import { Conversation, type Peer } from './conversation.ts';
import { FaultCounter } from './fault-counter.ts';

/** The server that a connection belongs to. */
export interface ConnectionOwner {
  /** Called when the connection is gone. @param fault why, when it failed before its publish was accepted */
  onClosed(connection: Connection, fault: string | undefined): void;
  /** Called when its publish was accepted. */
  onAccepted(connection: Connection): void;
  /** Called when it no longer publishes but stays connected. */
  onUnpublished(connection: Connection): void;
  /** Called with the number of bytes of media that have arrived. */
  onMediaBytes(connection: Connection, bytes: number): void;
}

/** The options of a connection. */
export interface ConnectionOptions {
  /** Identifies the connection. An id is never used twice. */
  readonly id: number;
  readonly owner: ConnectionOwner;
  readonly settings: RtmpSettings;
  readonly gate: PublishGate;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lines: CountedLines;
  /** Asks whether one more publish of this address gets log lines of its own. */
  readonly isShown: () => boolean;
  readonly scheme: RtmpScheme;
  readonly remoteAddress: string;
  /** Monotonic time. */
  readonly openedAt: Milliseconds;
}

const UNAUTHENTICATED_LIMITS = {
  messageBytes: MAX_UNAUTHENTICATED_MESSAGE_BYTES,
  incompleteBytes: 2 * MAX_UNAUTHENTICATED_MESSAGE_BYTES,
  chunkStreams: MAX_CHUNK_STREAMS,
};
const PUBLISHER_LIMITS = {
  messageBytes: MAX_MESSAGE_BYTES,
  incompleteBytes: MAX_INCOMPLETE_BYTES,
  chunkStreams: MAX_CHUNK_STREAMS,
};
/** The smallest window that a peer can set, so that it cannot have every byte acknowledged. */
const MIN_ACKNOWLEDGED_BYTES = 64 * 1024;

/**
 * Why a connection is not read at the moment. While there is any reason, its socket is paused, which puts back-pressure on the peer.
 *
 * - `gate`: the publish gate has not decided yet
 * - `turn`: much came at once, and the rest is handled in the next turn of the event loop
 * - `sweep`: the bytes came in many small reads, and reading continues at the next sweep
 * - `second`: more media messages came than an encoder sends, and reading continues in the next second
 */
type Hold = 'gate' | 'turn' | 'sweep' | 'second';

/** One connection, from accept to close. Its server calls {@link tick} throughout. */
export class Connection implements Peer {
  readonly id: number;
  readonly scheme: RtmpScheme;
  readonly remoteAddress: string;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #settings: RtmpSettings;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #lines: CountedLines;
  readonly #faults = new FaultCounter();
  readonly #workBeforeAccepted = new Allowance(MAX_WORK_BEFORE_ACCEPTED, 'messages and reads without a publish');
  readonly #controlMessages = new Allowance(MAX_CONTROL_MESSAGES_PER_S, 'messages without media in a second');
  readonly #newStarts = new Allowance(MAX_NEW_STARTS_PER_S, 'publishes and changes of configuration in a second');
  readonly #conversation: Conversation;
  readonly #payloads = new PayloadMemory();
  readonly #reader = new ChunkReader(UNAUTHENTICATED_LIMITS, (sizeBytes) => this.#payloads.take(sizeBytes));
  readonly #writer = new ChunkWriter();
  #handshake: ServerHandshake | undefined = new ServerHandshake();
  readonly #openedAt: Milliseconds;
  #now: Milliseconds;
  /** When bytes were last received, accurate to a sweep. */
  #heardAt: Milliseconds;
  /** Whether bytes were received since the last sweep. */
  #hasHeard = false;
  #isPinged = false;
  /** Since when it has been connected without publishing. Undefined while it publishes. */
  #waitingSince: Milliseconds | undefined;
  readonly #holds = new Set<Hold>();
  /** Bytes of large reads in a row, since the connection last waited for a turn. */
  #largeReadBytes = 0;
  /** Media messages since the last second began. */
  #mediaMessages = 0;
  /** Small reads since the last sweep. */
  #smallReads = 0;
  /** When the socket is destroyed if the peer has not closed it. Undefined until {@link close}. */
  #closeBy: Milliseconds | undefined;
  /** Why it ended, unless it was simply closed. */
  #fault: string | undefined;
  #hasPublished = false;
  #bytesIn = 0;
  #acknowledged = 0;
  #acknowledgeEvery = WINDOW_BYTES;
  #mediaBytes = 0;
  #countedSince: Milliseconds;

  /** @param socket its TLS handshake, if any, may still be under way: the time limit of RTMP's handshake includes it */
  constructor(socket: Socket, options: ConnectionOptions) {
    const { id, owner, settings, gate, clock, logger, lines, isShown, scheme, remoteAddress, openedAt } = options;
    this.id = id;
    this.#socket = socket;
    this.#owner = owner;
    this.#settings = settings;
    this.#clock = clock;
    this.#logger = logger;
    this.#lines = lines;
    this.scheme = scheme;
    this.remoteAddress = remoteAddress;
    this.#openedAt = openedAt;
    this.#now = openedAt;
    this.#heardAt = openedAt;
    this.#waitingSince = openedAt;
    this.#countedSince = openedAt;
    this.#conversation = new Conversation(this, {
      gate,
      logger,
      lines,
      isShown,
      faults: this.#faults,
      newStarts: this.#newStarts,
    });
    socket.setNoDelay(true);
    socket.on('data', (slice: Buffer) => this.#onData(slice));
    socket.on('end', () => this.#conversation.lost('closed_by_peer'));
    socket.on('error', (error: NodeJS.ErrnoException) => this.#giveUp(error.code ?? 'socket_error'));
    socket.once('close', () => this.#onClose());
  }

  /**
   * Enforces the time limits, and reports counts. The server calls it at short intervals.
   * @param now monotonic time
   */
  tick(now: Milliseconds): void {
    this.#now = now;
    if (this.#hasHeard) {
      this.#heardAt = now;
      this.#hasHeard = false;
      this.#isPinged = false;
    }
    if (this.#closeBy !== undefined) {
      if (now >= this.#closeBy) this.#socket.destroy();
    } else {
      const timeout = this.#expiredTimeout();
      if (timeout !== undefined) this.#giveUp(timeout);
      else if (!this.#isPinged && now - this.#heardAt >= PING_AFTER_MS) this.#ping();
    }
    this.#smallReads = 0;
    this.#goOn('sweep');
    if (now - this.#countedSince >= 1000) this.#beginSecond();
    // Comes last, because a peer from which the server did not read until now was not silent.
    this.#conversation.silentFor(now - this.#heardAt);
  }

  /** Closes the connection at once, because another one needs its place. @param why for the log */
  evict(why: string): void {
    this.#giveUp(why);
  }

  /** Closes the connection because the server stops. Its publish ends so that it can be continued, and the peer is sent the reason. */
  shutDown(): void {
    this.#conversation.shutDown();
  }

  send(message: Message): void {
    if (!this.#socket.writable) return;
    this.#socket.write(this.#writer.write(message));
    if (this.#socket.writableLength > MAX_OUTPUT_BYTES) this.#giveUp('output_not_read');
  }

  hold(): void {
    this.#holdFor('gate');
  }

  release(): void {
    this.#goOn('gate');
  }

  accepted(): void {
    this.#waitingSince = undefined;
    this.#hasPublished = true;
    this.#workBeforeAccepted.renew();
    this.#reader.setLimits(PUBLISHER_LIMITS);
    this.#owner.onAccepted(this);
  }

  unpublished(): void {
    this.#waitingSince = this.#now;
    this.#reader.setLimits(UNAUTHENTICATED_LIMITS);
    this.#owner.onUnpublished(this);
  }

  close(): void {
    this.#closeBy ??= (this.#now + CLOSE_WITHIN_MS) as Milliseconds;
    // Bytes that still arrive are discarded: closing with unread bytes would reset the connection and lose the reason that was sent.
    this.#socket.resume();
    this.#socket.end();
  }

  #onData(slice: Buffer): void {
    this.#bytesIn += slice.length;
    this.#hasHeard = true;
    if (this.#closeBy !== undefined) return;
    this.#handle(() => {
      this.#countRead(slice);
      this.#read(slice);
      this.#acknowledge();
    });
    this.#largeReadBytes = slice.length < LARGE_READ_BYTES ? 0 : this.#largeReadBytes + slice.length;
    if (this.#largeReadBytes >= MAX_BYTES_A_TURN) this.#waitForTurn();
  }

  /** Limits reads as well as messages: a read costs about as much as a small message, and the peer decides how many its bytes take. */
  #countRead(slice: Buffer): void {
    if (this.#waitingSince !== undefined) {
      this.#workBeforeAccepted.use();
    } else if (slice.length < SMALL_READ_BYTES) {
      this.#smallReads += 1;
      if (this.#smallReads > MAX_SMALL_READS_PER_SWEEP) this.#holdFor('sweep');
    }
  }

  #holdFor(why: Hold): void {
    this.#holds.add(why);
    this.#socket.pause();
  }

  #waitForTurn(): void {
    this.#largeReadBytes = 0;
    if (this.#holds.has('turn')) return;
    this.#holdFor('turn');
    setImmediate(() => this.#goOn('turn'));
  }

  /** Removes a reason to wait. Resumes reading when it was the last one. */
  #goOn(why: Hold): void {
    if (!this.#holds.delete(why) || this.#holds.size > 0 || this.#socket.destroyed) return;
    this.#heardAt = this.#now;
    this.#handle(() => this.#readMessages());
    if (this.#holds.size === 0) this.#socket.resume();
  }

  #read(slice: Buffer): void {
    let chunks = slice;
    if (this.#handshake !== undefined) {
      const { used, reply } = this.#handshake.feed(slice);
      if (reply !== undefined) this.#socket.write(reply);
      if (!this.#handshake.isDone) return;
      this.#handshake = undefined;
      chunks = slice.subarray(used);
    }
    this.#reader.feed(chunks);
    this.#readMessages();
  }

  #readMessages(): void {
    const untilMs = this.#clock.monotonic() + MAX_TURN_MS;
    for (let count = 0; this.#isReading; count++) {
      if (count === MAX_MESSAGES_A_TURN || (count > 0 && this.#clock.monotonic() > untilMs)) {
        this.#waitForTurn();
        return;
      }
      const message = this.#reader.next();
      if (message === undefined) return;
      this.#countMessage(message);
      this.#receive(message);
      this.#payloads.giveBack(message.payload);
    }
  }

  get #isReading(): boolean {
    return this.#holds.size === 0 && this.#closeBy === undefined && !this.#socket.destroyed;
  }

  #receive(message: Message): void {
    switch (message.type) {
      case MESSAGE.windowAcknowledgementSize:
        this.#acknowledgeEvery = Math.max(MIN_ACKNOWLEDGED_BYTES, readUint32(message));
        return;
      case MESSAGE.userControl:
        this.#answer(message);
        return;
      case MESSAGE.setChunkSize:
      case MESSAGE.abort:
        return; // the chunk reader has obeyed them
      case MESSAGE.acknowledgement:
      case MESSAGE.setPeerBandwidth:
        return; // the server sends too little for either to matter
      default:
        this.#mediaBytes += this.#conversation.receive(message);
    }
  }

  #answer(message: Message): void {
    const control = readUserControl(message);
    if (control?.event !== USER_CONTROL.pingRequest) return;
    this.send(userControl(USER_CONTROL.pingResponse, control.value));
  }

  /**
   * Limits messages: a message can have two bytes, so a peer on a fast line could keep the whole server busy. Encoders send few messages
   * other than media, and too many of these end the connection. A publisher's media may come in bursts, and too much of it only waits.
   */
  #countMessage({ type, payload }: Message): void {
    const cost = type === MESSAGE.abort ? ABORT_COUNTS_AS : 1;
    const isMedia = payload.length > 0 && (type === MESSAGE.audio || type === MESSAGE.video);
    if (this.#waitingSince !== undefined) {
      this.#workBeforeAccepted.use(cost);
    } else if (!isMedia) {
      this.#controlMessages.use(cost);
    } else {
      this.#mediaMessages += 1;
      if (this.#mediaMessages >= MAX_MEDIA_MESSAGES_PER_S) this.#holdFor('second');
    }
  }

  #acknowledge(): void {
    if (this.#bytesIn - this.#acknowledged < this.#acknowledgeEvery / 2) return;
    this.#acknowledged = this.#bytesIn;
    this.send(controlMessage(MESSAGE.acknowledgement, this.#bytesIn >>> 0));
  }

  #ping(): void {
    this.#isPinged = true;
    if (this.#handshake === undefined) this.send(userControl(USER_CONTROL.pingRequest, this.#now >>> 0));
  }

  /** The timeout that has expired. Undefined when none has. */
  #expiredTimeout(): string | undefined {
    const { rtmpHandshakeTimeoutS, rtmpPublishTimeoutS, rtmpIdleTimeoutS } = this.#settings;
    if (this.#holds.size > 0) return undefined; // the server makes the peer wait, and that wait has its own limit
    if (this.#handshake !== undefined && this.#now - this.#openedAt >= rtmpHandshakeTimeoutS * 1000) {
      return 'handshake_timeout';
    }
    if (this.#waitingSince !== undefined && this.#now - this.#waitingSince >= rtmpPublishTimeoutS * 1000) {
      return 'publish_timeout';
    }
    return this.#now - this.#heardAt >= rtmpIdleTimeoutS * 1000 ? 'idle_timeout' : undefined;
  }

  /** Runs `read`, and sends all its answers together. An error that it throws ends this connection alone. */
  #handle(read: () => void): void {
    this.#socket.cork();
    try {
      read();
    } catch (error) {
      if (error instanceof RtmpError) this.#logger.debug({ code: error.code, detail: error.message }, 'protocol error');
      else this.#note('error', 'handling a publisher failed', {}, { err: error });
      this.#giveUp(error instanceof RtmpError ? error.code : 'internal_error');
    }
    this.#socket.uncork();
  }

  #note(level: CountedLevel, message: string, kind: Record<string, string>, fields: object, count = 1): void {
    const example = { connection: this.id, remoteAddress: this.remoteAddress, scheme: this.scheme, ...fields };
    this.#lines.note(level, message, kind, { address: this.remoteAddress, count, example });
  }

  #giveUp(why: string): void {
    this.#fault = why;
    this.#conversation.lost(why);
    this.#socket.destroy();
  }

  #beginSecond(): void {
    this.#report();
    this.#countedSince = this.#now;
    this.#controlMessages.renew();
    this.#newStarts.renew();
    this.#mediaMessages = 0;
    this.#goOn('second');
  }

  #report(): void {
    for (const [fault, count] of Object.entries(this.#faults.take() ?? {})) {
      this.#note('warn', 'publishers sent unusable messages', { fault }, {}, count);
    }
    if (this.#mediaBytes > 0) this.#owner.onMediaBytes(this, this.#mediaBytes);
    this.#mediaBytes = 0;
  }

  #onClose(): void {
    this.#conversation.lost('closed_by_peer');
    this.#report();
    this.#owner.onClosed(this, this.#hasPublished || this.#closeBy !== undefined ? undefined : this.#fault);
  }
}
