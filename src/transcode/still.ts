/**
 * Makes a picture of one keyframe, in a worker process that exists only for that: video from strangers is decoded nowhere else.
 */
import { ticks } from '#lib/units.ts';
import type { VideoCodec } from '#media/track.ts';
import type { WorkerStarter } from './fork-server.ts';
import { WorkerProcess } from './worker-process.ts';
import { PROTOCOL_VERSION } from './worker-protocol.ts';

/** The time limit for a picture. Starting the process takes most of it. A frame of high dynamic range gets the same time once more. */
const TIME_LIMIT_MS = 10_000;
const MEMORY_LIMIT_BYTES = 512 * 1024 * 1024;
/** What the decoder assumes. It has no effect on one frame. */
const FRAME_RATE = 30;

/** A keyframe. */
export interface Keyframe {
  readonly codec: VideoCodec;
  /** The decoder configuration record, as in a track. */
  readonly config: Uint8Array;
  /** In pixels, as displayed. */
  readonly width: number;
  readonly height: number;
  /** The access unit, as in a packet. */
  readonly data: Uint8Array;
}

/** Makes a JPEG of at most 640x1280 pixels. Undefined when the frame cannot be decoded in time. @param forkServer starts the worker */
export async function makeStill(
  forkServer: WorkerStarter,
  { data, ...source }: Keyframe,
): Promise<Uint8Array | undefined> {
  const { promise: picture, resolve } = Promise.withResolvers<Uint8Array | undefined>();
  let hasPrepared = false;
  /** Gives the worker its time once more, but only once, because a hostile frame may control the worker. */
  const onPreparing = () => {
    if (hasPrepared) return;
    hasPrepared = true;
    clearTimeout(timeout);
    timeout = startTimeout();
  };
  const worker = new WorkerProcess(
    forkServer,
    { version: PROTOCOL_VERSION, preset: 'ultrafast', threads: 1, pictures: ['poster'] },
    {
      onMessage: (message) => {
        if (message.type === 'ready') void begin();
        // The bytes are copied, because they are part of a larger message buffer.
        else if (message.type === 'picture') resolve(Uint8Array.from(message.jpeg));
        else if (message.type === 'preparing') onPreparing();
        else if (message.type === 'done') resolve(undefined);
      },
      onEnd: () => resolve(undefined),
    },
  );
  const begin = async (): Promise<void> => {
    await worker.limitMemory(MEMORY_LIMIT_BYTES);
    worker.send({ type: 'source', source: { ...source, framesPerSecond: FRAME_RATE, renditions: [] } });
    const packet = { kind: 'video', pts: ticks(0), dts: ticks(0), keyframe: true, data } as const;
    worker.send({ type: 'packet', packet, afterGap: false });
  };
  const startTimeout = () => setTimeout(() => worker.kill('hung'), TIME_LIMIT_MS);
  let timeout = startTimeout();
  try {
    return await picture;
  } finally {
    clearTimeout(timeout);
    worker.kill('exited');
    await worker.ended;
  }
}
