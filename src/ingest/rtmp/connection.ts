/**
 * One connection, over TCP or TLS: bytes in and out, time limits, and its end, whatever the reason.
 */
import type { Socket } from 'node:net';
import type { PublishGate } from '#ingest/ingest.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Logger } from '#telemetry/logger.ts';
import { Allowance } from './allowance.ts';
import { ChunkReader } from './chunk-reader.ts';
import { ChunkWriter } from './chunk-writer.ts';
import {
  CLOSE_WITHIN_MS,
  MAX_CHUNK_STREAMS,
  MAX_CONFIG_CHANGES_PER_S,
  MAX_CONTROL_MESSAGES_PER_S,
  MAX_INCOMPLETE_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_OUTPUT_BYTES,
  MAX_UNAUTHENTICATED_MESSAGE_BYTES,
  PING_AFTER_MS,
  type RtmpScheme,
  type RtmpSettings,
  WINDOW_BYTES,
} from './config.ts';
import { Conversation, type Peer } from './conversation.ts';
import { FaultCounter } from './fault-counter.ts';
import { ServerHandshake } from './handshake.ts';
import {
  controlMessage,
  MESSAGE,
  type Message,
  readUint32,
  readUserControl,
  USER_CONTROL,
  userControl,
} from './message.ts';
import { RtmpError } from './rtmp-error.ts';

/** What a connection tells its server. */
export interface ConnectionOwner {
  /** It is gone. @param fault why, when it failed before it got as far as a publish */
  onClosed(connection: Connection, fault: string | undefined): void;
  onPublishing(connection: Connection, isPublishing: boolean): void;
  onMediaBytes(connection: Connection, bytes: number): void;
}

/** What a connection is made of. */
export interface ConnectionOptions {
  readonly owner: ConnectionOwner;
  readonly settings: RtmpSettings;
  readonly gate: PublishGate;
  readonly logger: Logger;
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
/** A peer that asks for an acknowledgement of every byte gets one for this many. */
const MIN_ACKNOWLEDGED_BYTES = 64 * 1024;

/** One connection. Lives from accept to close; its server calls {@link tick} all along. */
export class Connection implements Peer {
  readonly scheme: RtmpScheme;
  readonly remoteAddress: string;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #settings: RtmpSettings;
  readonly #logger: Logger;
  readonly #faults = new FaultCounter();
  readonly #controlMessages = new Allowance(MAX_CONTROL_MESSAGES_PER_S, 'messages without media');
  readonly #configChanges = new Allowance(MAX_CONFIG_CHANGES_PER_S, 'changes of configuration');
  readonly #conversation: Conversation;
  readonly #reader = new ChunkReader(UNAUTHENTICATED_LIMITS);
  readonly #writer = new ChunkWriter();
  #handshake: ServerHandshake | undefined = new ServerHandshake();
  readonly #openedAt: Milliseconds;
  #now: Milliseconds;
  #heardAt: Milliseconds;
  #hasHeard = false;
  #isPinged = false;
  /** Since when it has been connected without publishing; undefined while it publishes. */
  #waitingSince: Milliseconds | undefined;
  #isHeld = false;
  #closeBy: Milliseconds | undefined;
  #isClosed = false;
  /** Why it ended, where it was not simply closed. */
  #fault: string | undefined;
  #hasPublished = false;
  #bytesIn = 0;
  #acknowledged = 0;
  #acknowledgeEvery = WINDOW_BYTES;
  #mediaBytes = 0;
  #countedSince: Milliseconds;

  /** @param socket whose TLS handshake, if it has one, may still be to come: it counts as part of RTMP's */
  constructor(socket: Socket, { owner, settings, gate, logger, scheme, remoteAddress, openedAt }: ConnectionOptions) {
    this.#socket = socket;
    this.#owner = owner;
    this.#settings = settings;
    this.#logger = logger;
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
      faults: this.#faults,
      configChanges: this.#configChanges,
    });
    socket.setNoDelay(true);
    socket.on('data', (slice: Buffer) => this.#onData(slice));
    socket.on('end', () => this.#conversation.lost('closed_by_peer'));
    socket.on('error', (error: NodeJS.ErrnoException) => this.#giveUp(error.code ?? 'socket_error'));
    socket.on('close', () => this.#onClose());
  }

  /**
   * Looks after time limits and reports; called by the server at short intervals.
   * @param now monotonic
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
      const overdue = this.#isOverdue();
      if (overdue !== undefined) this.#giveUp(overdue);
      else if (!this.#isPinged && now - this.#heardAt >= PING_AFTER_MS) this.#ping();
    }
    if (now - this.#countedSince >= 1000) this.#report();
  }

  /** The server stops. Ends a publish so that it can be continued, says so, and closes. */
  shutDown(): void {
    this.#conversation.shutDown();
  }

  send(message: Message): void {
    if (!this.#socket.writable) return;
    this.#socket.write(this.#writer.write(message));
    if (this.#socket.writableLength > MAX_OUTPUT_BYTES) this.#giveUp('output_not_read');
  }

  hold(): void {
    this.#isHeld = true;
    this.#socket.pause();
  }

  release(): void {
    this.#isHeld = false;
    this.#heardAt = this.#now;
    this.#guard(() => this.#readMessages());
    if (!this.#isHeld) this.#socket.resume();
  }

  setPublishing(isPublishing: boolean): void {
    this.#waitingSince = isPublishing ? undefined : this.#now;
    this.#hasPublished ||= isPublishing;
    this.#reader.setLimits(isPublishing ? PUBLISHER_LIMITS : UNAUTHENTICATED_LIMITS);
    this.#owner.onPublishing(this, isPublishing);
  }

  close(): void {
    this.#closeBy ??= (this.#now + CLOSE_WITHIN_MS) as Milliseconds;
    // What still comes in is thrown away: closing with bytes unread would reset the connection and lose our last words.
    this.#socket.resume();
    this.#socket.end();
  }

  #onData(slice: Buffer): void {
    this.#bytesIn += slice.length;
    this.#hasHeard = true;
    if (this.#closeBy !== undefined) return;
    this.#socket.cork();
    this.#guard(() => {
      this.#conversation.heard();
      this.#read(slice);
      this.#acknowledge();
    });
    this.#socket.uncork();
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
    while (!this.#isHeld && this.#closeBy === undefined) {
      const message = this.#reader.next();
      if (message === undefined) return;
      this.#limitControl(message);
      this.#receive(message);
    }
  }

  #receive(message: Message): void {
    switch (message.type) {
      case MESSAGE.windowAcknowledgementSize:
        this.#acknowledgeEvery = Math.max(MIN_ACKNOWLEDGED_BYTES, readUint32(message));
        return;
      case MESSAGE.userControl:
        this.#answer(message);
        return;
      case MESSAGE.acknowledgement:
      case MESSAGE.setPeerBandwidth:
        return; // we send too little for either to matter
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
   * Everything but a publisher's media with something in it costs us work and carries nothing: encoders need little of it.
   * Two bytes make a message, so without this a stranger on a fast line could keep the whole server busy.
   */
  #limitControl({ type, payload }: Message): void {
    const isMedia = payload.length > 0 && (type === MESSAGE.audio || type === MESSAGE.video);
    if (!isMedia || this.#waitingSince !== undefined) this.#controlMessages.use();
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

  /** The time limit that has run out, if any. */
  #isOverdue(): string | undefined {
    const { rtmpHandshakeTimeoutS, rtmpPublishTimeoutS, rtmpIdleTimeoutS } = this.#settings;
    if (this.#isHeld) return undefined; // we are the ones who keep it waiting, and that wait has its own limit
    if (this.#handshake !== undefined && this.#now - this.#openedAt >= rtmpHandshakeTimeoutS * 1000) {
      return 'handshake_timeout';
    }
    if (this.#waitingSince !== undefined && this.#now - this.#waitingSince >= rtmpPublishTimeoutS * 1000) {
      return 'publish_timeout';
    }
    return this.#now - this.#heardAt >= rtmpIdleTimeoutS * 1000 ? 'idle_timeout' : undefined;
  }

  /** Runs what reads the publisher's bytes: whatever it throws ends this connection and nothing else. */
  #guard(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (error instanceof RtmpError) this.#logger.debug({ code: error.code, detail: error.message }, 'protocol error');
      else this.#logger.error({ err: error }, 'handling a publisher failed');
      this.#giveUp(error instanceof RtmpError ? error.code : 'internal_error');
    }
  }

  #giveUp(why: string): void {
    this.#fault = why;
    this.#conversation.lost(why);
    this.#socket.destroy();
  }

  #report(): void {
    this.#countedSince = this.#now;
    this.#controlMessages.renew();
    this.#configChanges.renew();
    const faults = this.#faults.take();
    if (faults !== undefined) this.#logger.warn({ faults }, 'publisher sent what cannot be used');
    if (this.#mediaBytes > 0) this.#owner.onMediaBytes(this, this.#mediaBytes);
    this.#mediaBytes = 0;
  }

  #onClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#conversation.lost('closed_by_peer');
    this.#report();
    this.#owner.onClosed(this, this.#hasPublished || this.#closeBy !== undefined ? undefined : this.#fault);
  }
}
