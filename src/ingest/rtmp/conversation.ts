/**
 * The conversation on one connection: the publisher's commands and the answers to them, the gate's decision, and the media after it.
 * Independent of the socket.
 */

import { Secret } from '#domain/secret.ts';
import type { Publication, PublicationEnd, PublishGate, Refusal } from '#ingest/ingest.ts';
import type { AmfValue } from '#media/rtmp/amf0.ts';
import {
  callResult,
  connectResult,
  onFcPublish,
  onStatus,
  type RtmpCommand,
  readCommand,
  type StatusCode,
} from '#media/rtmp/commands.ts';
import {
  commandMessage,
  controlMessage,
  MESSAGE,
  type Message,
  setPeerBandwidth,
  USER_CONTROL,
  userControl,
} from '#media/rtmp/message.ts';
import { RtmpError } from '#media/rtmp/rtmp-error.ts';
import type { CountedLines } from '#telemetry/counted-lines.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Allowance } from './allowance.ts';
import { askGate } from './ask-gate.ts';
import {
  GATE_TIMEOUT_MS,
  MAX_STREAM_NAME_LENGTH,
  OUTGOING_CHUNK_SIZE,
  type RtmpScheme,
  WINDOW_BYTES,
} from './config.ts';
import type { FaultCounter } from './fault-counter.ts';
import { MediaReader, UnplayableMediaError } from './media-reader.ts';

/** The connection of a conversation. */
export interface Peer {
  readonly scheme: RtmpScheme;
  readonly remoteAddress: string;
  /** Sends a message to the publisher. */
  send(message: Message): void;
  /** Delivers no message and reads nothing until {@link release}, which puts back-pressure on the publisher. */
  hold(): void;
  /** Ends {@link hold}. */
  release(): void;
  /** Notes that the publisher was accepted. */
  accepted(): void;
  /** Notes that the publisher stopped. The connection stays open, and may publish again. */
  unpublished(): void;
  /** Flushes what was sent, then closes. Delivers no more messages. */
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

/** The only application: the `live` in `rtmp://host/live/<streamKey>`. */
const APPLICATION = 'live';
/** The id of the only message stream, because a connection has one publish at a time. */
const STREAM_ID = 1;
const MAX_ENCODER_LENGTH = 256;
/** The longest application name, without its query, that is examined. */
const MAX_APPLICATION_LENGTH = 64;

/** The options of a conversation. */
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

/** The reason for the end of a publish. */
interface EndFields {
  readonly why?: string;
  readonly detail?: string;
  readonly code?: Refusal['code'];
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
  /** The reason to disconnect the publisher, when it came before the gate's answer. */
  #earlyRefusal: Refusal | undefined;

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
   * Handles the next message.
   * @returns the number of bytes of media in it
   * @throws {RtmpError} when it violates the protocol, so that the connection must end
   */
  receive(message: Message): number {
    if (message.type === MESSAGE.command || message.type === MESSAGE.commandAmf3) {
      this.#handleCommand(readCommand(message), message.streamId);
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

  /** Notes for how many milliseconds no bytes were received. */
  silentFor(silentMs: number): void {
    if (this.#state.phase === 'publishing') this.#state.publication.silentFor(silentMs);
  }

  /** Disconnects the publisher because the server stops. The reason that it is sent tells its user to connect again. */
  shutDown(): void {
    this.#end('connection_lost', { why: 'server_stopping' });
    this.#refuse('NetConnection.Connect.AppShutdown', 'The server is restarting; connect again.');
  }

  /**
   * Ends the conversation because the connection is lost or about to be. A second call changes nothing.
   * @param why the reason, for the log
   */
  lost(why: string): void {
    this.#end('connection_lost', { why });
    this.#state = { phase: 'over' };
    this.#gone.abort();
  }

  #handleCommand(command: RtmpCommand, streamId: number): void {
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
        // Old encoders send commands that have no meaning today, and do not wait for an answer.
        this.#faults.count('command_unknown');
    }
  }

  #connect({ object, transactionId }: RtmpCommand): void {
    // The answer is the longest of all, and no encoder sends the command twice.
    if (this.#application !== undefined) throw new RtmpError('command_invalid', 'connect was sent twice');
    this.#application = applicationOf(object.get('app'));
    const flashVersion = object.get('flashVer');
    this.#encoder = typeof flashVersion === 'string' ? flashVersion.slice(0, MAX_ENCODER_LENGTH) : undefined;
    this.#peer.send(controlMessage(MESSAGE.windowAcknowledgementSize, WINDOW_BYTES));
    this.#peer.send(setPeerBandwidth(WINDOW_BYTES));
    this.#peer.send(controlMessage(MESSAGE.setChunkSize, OUTGOING_CHUNK_SIZE));
    this.#reply(connectResult(transactionId));
  }

  #publish({ args }: RtmpCommand, streamId: number): void {
    if (this.#state.phase !== 'connected' || this.#application === undefined) {
      throw new RtmpError('command_invalid', 'publish is not allowed in this state');
    }
    const streamKey = streamKeyOf(args[0]);
    if (this.#application !== APPLICATION || streamKey === undefined) {
      this.#noteRefusal('address_invalid');
      this.#noteAddress(args[0]);
      this.#refuse(
        'NetStream.Publish.Denied',
        `Publish to ${this.#peer.scheme}://<this server>/${APPLICATION} with the stream key as the stream name.`,
      );
      return;
    }
    this.#newStarts.use();
    this.#state = { phase: 'asking' };
    this.#peer.hold();
    // Never rejects: failures of the gate become refusals, and other errors are caught where messages are read.
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
        disconnect: (refusal) => this.#disconnect(refusal),
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
    const refusal = decision.accepted ? this.#earlyRefusal : decision.refusal;
    if (refusal !== undefined) {
      if (decision.accepted) this.#endPublication(decision.publication, 'disconnected');
      this.#noteRefusal(refusal.code);
      this.#refuse('NetStream.Publish.Denied', refusal.reason);
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

  #disconnect(refusal: Refusal): void {
    if (this.#state.phase === 'asking') this.#earlyRefusal = refusal;
    if (this.#state.phase !== 'publishing') return;
    this.#end('disconnected', { code: refusal.code });
    this.#refuse('NetStream.Publish.Denied', refusal.reason);
  }

  /** Ends the publish, if there is one. @param fields the reason, for the log and the owner of the stream */
  #end(reason: PublicationEnd, fields: EndFields): void {
    if (this.#state.phase !== 'publishing') return;
    const { publication, isShown } = this.#state;
    this.#state = { phase: 'connected' };
    if (isShown) this.#logger.info({ reason, ...fields }, 'publisher ended');
    else this.#lines.note('info', 'publishers ended', { reason }, { address: this.#peer.remoteAddress });
    this.#endPublication(publication, reason, fields);
  }

  #endPublication(publication: Publication, reason: PublicationEnd, { why, detail }: EndFields = {}): void {
    try {
      publication.end(reason, why === undefined ? undefined : { code: why, message: detail });
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

  /** Hands over what the publisher sent as its address, in which the owner of a stream key may find it. */
  #noteAddress(name: AmfValue): void {
    const text = `${this.#application ?? ''}/${typeof name === 'string' ? name.slice(0, MAX_STREAM_NAME_LENGTH) : ''}`;
    const { scheme: protocol, remoteAddress } = this.#peer;
    this.#gate.addressInvalid({ text: new Secret(text), protocol, remoteAddress, encoder: this.#encoder });
  }

  /** Sends the reason and closes. The publish, if there was one, must have ended before. */
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

/** The application without the query and the extra slashes that encoders leave in it. Empty when it is not a valid name. */
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
