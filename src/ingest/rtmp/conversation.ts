/**
 * What is said on one connection: the publisher's commands and our answers, the gate's decision, the media that follows.
 * Knows no socket.
 */

import { Secret } from '#domain/secret.ts';
import type { Publication, PublicationEnd, PublishGate, Refusal } from '#ingest/ingest.ts';
import type { CountedLines } from '#telemetry/counted-lines.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Allowance } from './allowance.ts';
import type { AmfValue } from './amf0.ts';
import { askGate } from './ask-gate.ts';
import {
  type Command,
  callResult,
  connectResult,
  onFcPublish,
  onStatus,
  readCommand,
  type StatusCode,
} from './commands.ts';
import {
  GATE_TIMEOUT_MS,
  MAX_STREAM_NAME_LENGTH,
  OUTGOING_CHUNK_SIZE,
  type RtmpScheme,
  WINDOW_BYTES,
} from './config.ts';
import type { FaultCounter } from './fault-counter.ts';
import { MediaReader, UnplayableMediaError } from './media-reader.ts';
import {
  commandMessage,
  controlMessage,
  MESSAGE,
  type Message,
  setPeerBandwidth,
  USER_CONTROL,
  userControl,
} from './message.ts';
import { RtmpError } from './rtmp-error.ts';

/** What a conversation does with its connection. */
export interface Peer {
  readonly scheme: RtmpScheme;
  readonly remoteAddress: string;
  send(message: Message): void;
  /** Hands on no message, and reads nothing, until {@link release}: the publisher feels it as back-pressure. */
  hold(): void;
  release(): void;
  /** Notes that the publisher was accepted. */
  accepted(): void;
  /** Notes that the publisher stopped. The connection stays open, and may publish again. */
  unpublished(): void;
  /** Flushes what was sent, then closes; hands on nothing more. */
  close(): void;
}

type State =
  | { readonly phase: 'connected' }
  | { readonly phase: 'asking' }
  | {
      readonly phase: 'publishing';
      readonly publication: Publication;
      readonly media: MediaReader;
      /** Whether its start and its end have log lines of their own. */
      readonly isShown: boolean;
    }
  | { readonly phase: 'over' };

/** The only application there is: the `live` of `rtmp://host/live/<streamKey>`. */
const APPLICATION = 'live';
/** The only message stream we give out: one publish a connection. */
const STREAM_ID = 1;
const MAX_ENCODER_LENGTH = 256;
/** A longer application name, without its query, cannot be ours and is not looked at. */
const MAX_APPLICATION_LENGTH = 64;

/** What a conversation is made with, besides its peer. */
export interface ConversationOptions {
  readonly gate: PublishGate;
  readonly logger: Logger;
  /** For events that may be too frequent for a log line each. */
  readonly lines: CountedLines;
  /** Asks whether one more publish of this address gets log lines of its own. */
  readonly isShown: () => boolean;
  readonly faults: FaultCounter;
  readonly newStarts: Allowance;
}

/** One connection's conversation. */
export class Conversation {
  readonly #peer: Peer;
  readonly #gate: PublishGate;
  readonly #logger: Logger;
  readonly #lines: CountedLines;
  readonly #isShown: () => boolean;
  readonly #faults: FaultCounter;
  readonly #newStarts: Allowance;
  readonly #gone = new AbortController();
  #state: State = { phase: 'connected' };
  #application: string | undefined;
  #encoder: string | undefined;
  /** A cut that came before the gate's own answer. */
  #cutEarly: Refusal | undefined;

  constructor(peer: Peer, { gate, logger, lines, isShown, faults, newStarts }: ConversationOptions) {
    this.#peer = peer;
    this.#gate = gate;
    this.#logger = logger;
    this.#lines = lines;
    this.#isShown = isShown;
    this.#faults = faults;
    this.#newStarts = newStarts;
  }

  /**
   * Takes the next message.
   * @returns bytes of media it held
   * @throws {RtmpError} when it breaks the protocol: the connection must end
   */
  receive(message: Message): number {
    if (message.type === MESSAGE.command || message.type === MESSAGE.commandAmf3) {
      this.#obey(readCommand(message), message.streamId);
      return 0;
    }
    if (this.#state.phase !== 'publishing') return 0;
    try {
      return this.#state.media.read(message);
    } catch (error) {
      if (!(error instanceof UnplayableMediaError)) throw error;
      this.#end('connection_lost', { why: 'unplayable_media', detail: error.message });
      this.#refuse('NetStream.Publish.Denied', error.message);
      return 0;
    }
  }

  /** Bytes came in. */
  heard(): void {
    if (this.#state.phase === 'publishing') this.#state.publication.heard();
  }

  /** The server stops: tells the publisher, which may come back to the next process. */
  shutDown(): void {
    this.#end('connection_lost', { why: 'server_stopping' });
    this.#refuse('NetConnection.Connect.AppShutdown', 'The server is restarting; connect again.');
  }

  /**
   * The connection is gone, or about to be. Harmless when said twice.
   * @param why for the log
   */
  lost(why: string): void {
    this.#end('connection_lost', { why });
    this.#state = { phase: 'over' };
    this.#gone.abort();
  }

  #obey(command: Command, streamId: number): void {
    const { name, transactionId } = command;
    switch (name) {
      case 'connect':
        this.#connect(command);
        break;
      case 'createStream':
        this.#reply(callResult(transactionId, STREAM_ID));
        break;
      case 'releaseStream':
      case '_checkbw':
        this.#reply(callResult(transactionId));
        break;
      case 'FCPublish':
        this.#reply(callResult(transactionId));
        this.#reply(onFcPublish());
        break;
      case 'publish':
        this.#publish(command, streamId);
        break;
      case 'FCUnpublish':
      case 'closeStream':
      case 'deleteStream':
        this.#unpublish();
        break;
      case 'play':
      case 'play2':
        this.#end('connection_lost', { why: 'play_asked_for' });
        this.#refuse('NetStream.Play.Failed', 'Millrace plays over HLS, not over RTMP.');
        break;
      default:
        // Old encoders ask for much that no longer means anything, and do not wait for an answer.
        this.#faults.count('command_unknown');
    }
  }

  #connect({ object, transactionId }: Command): void {
    // Its answer is the largest of all, and no encoder asks for it twice.
    if (this.#application !== undefined) throw new RtmpError('command_invalid', 'connect was sent twice');
    this.#application = applicationOf(object.get('app'));
    const flashVersion = object.get('flashVer');
    this.#encoder = typeof flashVersion === 'string' ? flashVersion.slice(0, MAX_ENCODER_LENGTH) : undefined;
    this.#peer.send(controlMessage(MESSAGE.windowAcknowledgementSize, WINDOW_BYTES));
    this.#peer.send(setPeerBandwidth(WINDOW_BYTES));
    this.#peer.send(controlMessage(MESSAGE.setChunkSize, OUTGOING_CHUNK_SIZE));
    this.#reply(connectResult(transactionId));
  }

  #publish({ args }: Command, streamId: number): void {
    if (this.#state.phase !== 'connected' || this.#application === undefined) {
      throw new RtmpError('command_invalid', 'publish outside its turn');
    }
    const streamKey = streamKeyOf(args[0]);
    if (this.#application !== APPLICATION || streamKey === undefined) {
      this.#noteRefusal('address_invalid');
      this.#refuse(
        'NetStream.Publish.BadName',
        `Publish to ${this.#peer.scheme}://<this server>/${APPLICATION} with the stream key as the stream name.`,
      );
      return;
    }
    this.#newStarts.use();
    this.#state = { phase: 'asking' };
    this.#peer.hold();
    // Never rejects: the gate's failures are refusals, and ours are caught where messages are read.
    void this.#ask(streamKey, streamId);
  }

  async #ask(streamKey: Secret, streamId: number): Promise<void> {
    const decision = await askGate(
      this.#gate,
      {
        streamKey,
        protocol: this.#peer.scheme,
        remoteAddress: this.#peer.remoteAddress,
        encoder: this.#encoder,
        cut: (refusal) => this.#cut(refusal),
      },
      {
        signal: AbortSignal.any([this.#gone.signal, AbortSignal.timeout(GATE_TIMEOUT_MS)]),
        lines: this.#lines,
      },
    );
    if (this.#state.phase !== 'asking') {
      if (decision.accepted) this.#endPublication(decision.publication, 'connection_lost');
      return;
    }
    const refusal = decision.accepted ? this.#cutEarly : decision.refusal;
    if (refusal !== undefined) {
      if (decision.accepted) this.#endPublication(decision.publication, 'cut');
      this.#noteRefusal(refusal.code);
      this.#refuse(statusOf(refusal), refusal.reason);
      return;
    }
    if (decision.accepted) this.#accept(decision.publication, streamId);
  }

  #accept(publication: Publication, streamId: number): void {
    const media = new MediaReader(publication, { faults: this.#faults, newStarts: this.#newStarts });
    const isShown = this.#isShown();
    this.#state = { phase: 'publishing', publication, media, isShown };
    this.#peer.accepted();
    if (isShown) this.#logger.info({ encoder: this.#encoder }, 'publisher accepted');
    this.#peer.send(userControl(USER_CONTROL.streamBegin, STREAM_ID));
    this.#reply(onStatus('status', 'NetStream.Publish.Start', 'Publishing.'), streamId);
    this.#peer.release();
  }

  #unpublish(): void {
    if (this.#state.phase !== 'publishing') return;
    this.#end('unpublished', {});
    this.#peer.unpublished();
    this.#reply(onStatus('status', 'NetStream.Unpublish.Success', 'Stopped.'), STREAM_ID);
  }

  #cut(refusal: Refusal): void {
    if (this.#state.phase === 'asking') this.#cutEarly = refusal;
    if (this.#state.phase !== 'publishing') return;
    this.#end('cut', { code: refusal.code });
    this.#refuse(statusOf(refusal), refusal.reason);
  }

  /** Ends the publish, if there is one. @param fields why, for the log */
  #end(reason: PublicationEnd, fields: object): void {
    if (this.#state.phase !== 'publishing') return;
    const { publication, isShown } = this.#state;
    this.#state = { phase: 'connected' };
    if (isShown) this.#logger.info({ reason, ...fields }, 'publisher ended');
    else this.#lines.note('info', 'publishers ended', { reason }, { address: this.#peer.remoteAddress });
    this.#endPublication(publication, reason);
  }

  #endPublication(publication: Publication, reason: PublicationEnd): void {
    try {
      publication.end(reason);
    } catch (error) {
      this.#lines.note('error', 'ending a publication failed', {}, { example: { err: error } });
    }
  }

  /** Counts a refusal: a peer can be refused as often as it likes, so refusals must not have a log line each. */
  #noteRefusal(code: Refusal['code'] | 'address_invalid'): void {
    const { scheme, remoteAddress } = this.#peer;
    const example = { remoteAddress, scheme, encoder: this.#encoder };
    this.#lines.note('info', 'publishers refused', { code }, { address: remoteAddress, example });
  }

  /** Says why, and closes. A publish must have been ended before. */
  #refuse(code: StatusCode, reason: string): void {
    if (this.#state.phase === 'over') return;
    this.#state = { phase: 'over' };
    this.#gone.abort();
    this.#reply(onStatus('error', code, reason), STREAM_ID);
    this.#peer.close();
  }

  #reply(payload: Buffer, streamId = 0): void {
    this.#peer.send(commandMessage(payload, streamId));
  }
}

/** The application without the query and the extra slashes that encoders leave in it; empty when it is not a valid name. */
function applicationOf(app: AmfValue): string {
  if (typeof app !== 'string') return '';
  const path = withoutQuery(app);
  if (path.length > MAX_APPLICATION_LENGTH) return '';
  return path
    .split('/')
    .filter((part) => part !== '')
    .join('/');
}

function streamKeyOf(name: AmfValue): Secret | undefined {
  if (typeof name !== 'string' || name.length > MAX_STREAM_NAME_LENGTH) return undefined;
  const key = withoutQuery(name);
  return key === '' ? undefined : new Secret(key);
}

function withoutQuery(text: string): string {
  return text.split('?', 1)[0]!;
}

function statusOf({ code }: Refusal): StatusCode {
  return code === 'stream_key_in_use' ? 'NetStream.Publish.BadName' : 'NetStream.Publish.Denied';
}
