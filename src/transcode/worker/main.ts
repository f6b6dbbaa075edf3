/**
 * The worker process. It reads its job and packets from file descriptor 3 and answers there, and sends nothing before it has its job. The
 * fork server starts it, never a person.
 *
 * It ends when the connection ends on either side, so a worker never outlives its server. A fault that it cannot handle is thrown. The
 * process then ends with the reason on standard error, and the server starts another.
 */
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AV_LOG_QUIET } from 'node-av/constants';
import { Log } from 'node-av/lib';
import { FrameReader } from '#transcode/framing.ts';
import { ignoreServersSignals } from '#transcode/ignored-signals.ts';
import type { FromWorker, Job, ToWorker } from '#transcode/worker-messages.ts';
import { decodeToWorker, encodeFromWorker, PROTOCOL_VERSION } from '#transcode/worker-protocol.ts';
import { AudioTranscoder } from './audio-transcoder.ts';
import { isOutOfMemory } from './av.ts';
import { Ladder } from './ladder.ts';

/** The connection to the server: the worker's end of a socket pair. */
const CONNECTION_FD = 3;
const HEALTH_EVERY_MS = 500;
/**
 * How often garbage is collected, which takes some milliseconds. V8 sees a small heap that hardly grows, and seldom collects old objects,
 * while buffers of old packets hold native memory. Without this, memory grows by half a megabyte per minute for many minutes.
 */
const COLLECT_EVERY_MS = 10_000;

ignoreServersSignals();
// A hostile bitstream can make FFmpeg log without end.
Log.setLevel(AV_LOG_QUIET);

const connection = new Socket({ fd: CONNECTION_FD, readable: true, writable: true, allowHalfOpen: true });
const reader = new FrameReader();
let ladder: Ladder | undefined;
const audio = new AudioTranscoder({
  onConfig: (config) => send({ type: 'audio_config', config }),
  onPacket: (packet) => send({ type: 'audio', packet }),
  onMissing: () => send({ type: 'audio_missing' }),
});

connection.on('data', (chunk: Buffer) => {
  // All results of a chunk are sent in one write.
  connection.cork();
  try {
    for (const frame of reader.push(chunk)) handle(decodeToWorker(frame));
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
    send({ type: 'out_of_memory' }); // the server then ends this process
  }
  connection.uncork();
});
connection.on('end', () => {
  connection.cork();
  ladder?.finish();
  audio.finish();
  connection.uncork();
  stop();
  connection.end();
});
connection.on('error', () => connection.destroy()); // the server is gone, and `close` follows
connection.on('close', stop);
let health: NodeJS.Timeout | undefined;
setFlagsFromString('--expose-gc');
const collection = setInterval(runInNewContext('gc') as () => void, COLLECT_EVERY_MS);

function handle(message: ToWorker): void {
  switch (message.type) {
    case 'job':
      start(message.job);
      break;
    case 'source':
      ladder?.finish();
      send({ type: 'begun' });
      ladder?.setSource(message.source);
      break;
    case 'active':
      ladder?.setActive(message.renditions);
      break;
    case 'packet':
      ladder?.write(message);
      send({ type: 'done', count: 1 });
      break;
    case 'held':
      ladder?.hold(message);
      send({ type: 'done', count: 1 });
      break;
    case 'audio_source':
      audio.setSource(message.source);
      break;
    case 'audio':
      audio.write(message.packet);
      break;
    case 'flush':
      ladder?.finish();
      audio.finish();
      send({ type: 'done', count: 1 });
      break;
  }
}

function start(job: Job): void {
  health = setInterval(sendHealth, HEALTH_EVERY_MS);
  send({ type: 'ready', version: PROTOCOL_VERSION });
  if (job.version !== PROTOCOL_VERSION) return; // the server sees the version in the answer and ends this process
  ladder = new Ladder(job, {
    onConfig: (rendition, config) => send({ type: 'config', rendition, config }),
    onFrame: (rendition, { pts, dts, keyframe, marked, data }) =>
      send({ type: 'packet', packet: { rendition, pts, dts, keyframe, marked, data } }),
    onFailed: (rendition) => send({ type: 'failed', rendition }),
    onMissing: () => send({ type: 'missing' }),
    onPicture: (picture) => send({ type: 'picture', ...picture }),
    onPreparing: () => {
      send({ type: 'preparing' });
      // While corked, the message would be sent only after the preparation, when it is of no more use.
      connection.uncork();
      connection.cork();
    },
  });
}

function sendHealth(): void {
  const { user, system } = process.cpuUsage();
  const picture = ladder?.picture ?? { blackS: 0, frozenS: 0 };
  send({
    type: 'health',
    health: {
      rssBytes: process.memoryUsage.rss(),
      cpuMs: (user + system) / 1000,
      decodeErrors: (ladder?.decodeErrors ?? 0) + audio.decodeErrors,
      encodeErrors: audio.encodeErrors,
      ...picture,
    },
  });
}

function send(message: FromWorker): void {
  for (const piece of encodeFromWorker(message)) connection.write(piece);
}

function stop(): void {
  clearInterval(health);
  clearInterval(collection);
  ladder?.[Symbol.dispose]();
  ladder = undefined;
  audio[Symbol.dispose]();
}
