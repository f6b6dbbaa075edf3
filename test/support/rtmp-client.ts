/**
 * A small RTMP publisher for tests. It does what encoders do, and, when a test asks for it, what no encoder should do.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type AmfValue, decodeAmf0, encodeAmf0 } from '#media/rtmp/amf0.ts';
import { ChunkReader } from '#media/rtmp/chunk-reader.ts';
import { ChunkWriter } from '#media/rtmp/chunk-writer.ts';
import { HANDSHAKE_BYTES } from '#media/rtmp/handshake.ts';
import {
  commandMessage,
  controlMessage,
  MESSAGE,
  type Message,
  readUserControl,
  USER_CONTROL,
  userControl,
} from '#media/rtmp/message.ts';
import type { FlvFileTag } from './flv-file.ts';
import { waitFor } from './wait-for.ts';

/** A status that the server sent about a stream (`onStatus`). */
export interface Status {
  readonly level: string;
  readonly code: string;
  readonly description: string;
}

/** A publish that the server refused. */
export class RtmpRefusedError extends Error {
  readonly status: Status;

  constructor(status: Status) {
    super(`refused: ${status.code}`);
    this.name = 'RtmpRefusedError';
    this.status = status;
  }
}

const CHUNK_SIZE = 4096;
const STREAM_ID = 1;
/** The chunk stream on which all media is sent, as librtmp does. */
const MEDIA_CHUNK_STREAM = 4;

/** One connection. Disposing it destroys the socket. */
export class RtmpClient implements AsyncDisposable {
  readonly socket: Socket;
  /** Every message that the server has sent since the handshake. */
  readonly messages: Message[] = [];
  /** Whether the server or this client has closed the connection. */
  isClosed = false;
  readonly #reader = new ChunkReader({ messageBytes: 1 << 20, incompleteBytes: 1 << 20, chunkStreams: 64 });
  readonly #writer = new ChunkWriter();
  #handshake = Buffer.alloc(0);
  #lastTransaction = 0;
  #lastPing = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (slice: Buffer) => this.#take(slice));
    socket.on('error', () => {}); // some tests cause resets; `close` follows
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  /**
   * Opens the connection, and sends nothing yet.
   * @param options.isDeaf whether the client keeps its side open, and goes on sending, after the server has closed the connection
   * @param options.tls over TLS, whatever certificate the server shows
   * @param options.from the local address, any of 127.0.0.0/8, so that a test can have several networks
   */
  static async open(port: number, { isDeaf = false, tls = false, from = '127.0.0.1' } = {}): Promise<RtmpClient> {
    const options = { port, host: '127.0.0.1', localAddress: from, noDelay: true, allowHalfOpen: isDeaf };
    const socket = tls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
    await once(socket, tls ? 'secureConnect' : 'connect');
    return new RtmpClient(socket);
  }

  /**
   * Opens the connection and does everything that an encoder does before it sends media.
   * @throws {RtmpRefusedError} when the server refuses the publish
   */
  static async publish(
    port: number,
    streamKey: string,
    app = 'live',
    options: { readonly tls?: boolean; readonly from?: string } = {},
  ): Promise<RtmpClient> {
    const client = await RtmpClient.open(port, options);
    try {
      await client.handshake();
      await client.connect(app);
      await client.publish(streamKey);
      return client;
    } catch (error) {
      client.socket.destroy();
      throw error;
    }
  }

  /** @param version of C0 */
  async handshake(version = 3): Promise<void> {
    this.raw(Buffer.concat([Buffer.of(version), Buffer.alloc(HANDSHAKE_BYTES)]));
    await this.#until('the server’s handshake', () => this.#isOpened);
    this.raw(this.#handshake.subarray(1, 1 + HANDSHAKE_BYTES));
  }

  /** Sends the `connect` command and a larger chunk size. @returns the server's answer */
  async connect(app = 'live', more: ReadonlyMap<string, AmfValue> = new Map()): Promise<readonly AmfValue[]> {
    const object = new Map<string, AmfValue>([['app', app], ['type', 'nonprivate'], ['flashVer', 'test/1'], ...more]);
    const answer = await this.call('connect', object);
    this.send(controlMessage(MESSAGE.setChunkSize, CHUNK_SIZE));
    return answer;
  }

  /** Sends `createStream` and `publish`. @throws {RtmpRefusedError} */
  async publish(streamKey: string): Promise<void> {
    await this.call('createStream', null);
    this.command('publish', null, streamKey, 'live');
    const status = await this.status((code) => code.startsWith('NetStream.P') || code.startsWith('NetConnection'));
    if (status.level === 'error') throw new RtmpRefusedError(status);
  }

  /** Ends the publish with the commands that encoders send. */
  unpublish(streamKey: string): void {
    this.command('FCUnpublish', null, streamKey);
    this.command('deleteStream', null, STREAM_ID);
  }

  /** Sends a command. @returns its transaction id */
  command(name: string, ...values: readonly AmfValue[]): number {
    this.#lastTransaction += 1;
    const isOnStream = name === 'publish' || name === 'play';
    this.send(commandMessage(encodeAmf0(name, this.#lastTransaction, ...values), isOnStream ? STREAM_ID : 0));
    return this.#lastTransaction;
  }

  /** Sends a command and waits for its answer: `_result` or `_error`, the transaction id, and what follows. */
  async call(name: string, ...values: readonly AmfValue[]): Promise<readonly AmfValue[]> {
    const id = this.command(name, ...values);
    return await this.#until(`the answer to ${name}`, () =>
      this.#commands().find(([answer, to]) => (answer === '_result' || answer === '_error') && to === id),
    );
  }

  /** Waits until the server has read everything that was sent so far: it answers a ping after what came before it. */
  async heard(): Promise<void> {
    this.#lastPing += 1;
    const ping = this.#lastPing;
    this.send(userControl(USER_CONTROL.pingRequest, ping));
    await this.#until('the answer to a ping', () => {
      const from = this.messages.findLastIndex((message) => {
        const control = readUserControl(message);
        return control?.event === USER_CONTROL.pingResponse && control.value === ping;
      });
      return from >= 0;
    });
  }

  /** Waits for the first status whose code matches, and returns it. */
  async status(fits: (code: string) => boolean): Promise<Status> {
    return await this.#until('a status', () => this.statuses().find(({ code }) => fits(code)));
  }

  /** All statuses that were received so far. */
  statuses(): Status[] {
    return this.#commands().flatMap(([name, , , information]) => {
      if (name !== 'onStatus' || !(information instanceof Map)) return [];
      const text = (key: string) => {
        const value = information.get(key);
        return typeof value === 'string' ? value : '';
      };
      return [{ level: text('level'), code: text('code'), description: text('description') }];
    });
  }

  /** Sends one FLV tag. @param shiftMs added to its timestamp, modulo 2^32 */
  tag({ type, timestamp, body }: FlvFileTag, shiftMs = 0): void {
    this.send({
      type,
      timestamp: (timestamp + shiftMs) >>> 0,
      payload: body,
      streamId: STREAM_ID,
      chunkStreamId: MEDIA_CHUNK_STREAM,
    });
  }

  /** Sends tags one after another, without pause. @param shiftMs added to each timestamp, modulo 2^32 */
  tags(tags: readonly FlvFileTag[], shiftMs = 0): void {
    for (const tag of tags) this.tag(tag, shiftMs);
  }

  send(message: Message): void {
    this.raw(this.#writer.write(message));
  }

  /** Sends bytes as they are. */
  raw(bytes: Buffer): void {
    if (this.socket.writable) this.socket.write(bytes);
  }

  /** Closes with a FIN. */
  end(): void {
    this.socket.end();
  }

  /** Closes with a RST, as the system does for a process that was killed. */
  drop(): void {
    this.socket.resetAndDestroy();
  }

  async closed(): Promise<void> {
    await waitFor(() => this.isClosed, { what: 'the connection to close' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await this.closed();
  }

  /** Waits for something that the server sends. @throws {Error} when it closes the connection before */
  async #until<Found>(what: string, said: () => Found | undefined | false): Promise<Found> {
    return await waitFor(
      () => {
        const found = said();
        if (this.isClosed && !found) throw new Error(`the connection closed before ${what}`);
        return found;
      },
      { what },
    );
  }

  get #isOpened(): boolean {
    return this.#handshake.length === 1 + 2 * HANDSHAKE_BYTES;
  }

  #commands(): AmfValue[][] {
    return this.messages.filter(({ type }) => type === MESSAGE.command).map(({ payload }) => decodeAmf0(payload));
  }

  #take(slice: Buffer): void {
    const missing = 1 + 2 * HANDSHAKE_BYTES - this.#handshake.length;
    if (missing > 0) this.#handshake = Buffer.concat([this.#handshake, slice.subarray(0, missing)]);
    this.#reader.feed(slice.subarray(Math.max(0, missing)));
    for (let message = this.#reader.next(); message !== undefined; message = this.#reader.next()) {
      this.messages.push(message);
    }
  }
}
