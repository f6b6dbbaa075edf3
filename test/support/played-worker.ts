/**
 * Workers of a transcoder that are played by a test, which decides what they send, and when. No process is started.
 */
import type { Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { waitFor } from '#test/support/wait-for.ts';
import type { WorkerCallbacks, WorkerStarter } from '#transcode/fork-server.ts';
import { FrameReader } from '#transcode/framing.ts';
import type { FromWorker, ToWorker } from '#transcode/worker-messages.ts';
import { decodeToWorker, encodeFromWorker, PROTOCOL_VERSION } from '#transcode/worker-protocol.ts';

/** The workers of one transcoder. The newest one is played. */
export class PlayedWorkers implements WorkerStarter {
  /** What the newest worker was sent. */
  heard: ToWorker[] = [];
  /** The number of workers that the transcoder killed. */
  kills = 0;
  /** Both sides of the connection, that of the worker first. */
  #sides: readonly Duplex[] = [];
  #callbacks: WorkerCallbacks | undefined;

  start(_: string, callbacks: WorkerCallbacks): number {
    const [server, worker] = duplexPair();
    const reader = new FrameReader();
    worker.on('data', (chunk: Buffer) => {
      for (const frame of reader.push(chunk)) this.heard.push(decodeToWorker(frame));
    });
    worker.on('end', () => this.end({ exit: 0, detail: '' }));
    this.#sides = [worker, server];
    this.#callbacks = callbacks;
    setImmediate(() => callbacks.onStarted(process.pid, server as unknown as Socket));
    return 1;
  }

  kill(): void {
    if (this.#callbacks === undefined) return;
    this.kills += 1;
    this.end({ exit: 'SIGKILL', detail: '' });
  }

  async limitMemory(): Promise<boolean> {
    return true;
  }

  /** Sends messages of the worker in one write. */
  say(...messages: readonly FromWorker[]): void {
    this.#sides[0]?.write(Buffer.concat(messages.flatMap(encodeFromWorker)));
  }

  /** Waits until all messages of the worker so far have been read. */
  async settled(): Promise<void> {
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }

  /** Waits until the worker was sent messages of a type. @returns the first of them */
  async hears<Type extends ToWorker['type']>(type: Type): Promise<ToWorker & { readonly type: Type }> {
    const isOfType = (message: ToWorker): message is ToWorker & { readonly type: Type } => message.type === type;
    return await waitFor(() => this.heard.find(isOfType), { what: `the message ${type}` });
  }

  /** Answers the job. */
  async getReady(): Promise<void> {
    await this.hears('job');
    this.say({ type: 'ready', version: PROTOCOL_VERSION });
  }

  /** Ends the worker. */
  end(how: { readonly exit: number | string; readonly detail: string }): void {
    const callbacks = this.#callbacks;
    this.#callbacks = undefined;
    this.heard = [];
    for (const side of this.#sides) side.destroy();
    setImmediate(() => callbacks?.onEnded(how));
  }
}
