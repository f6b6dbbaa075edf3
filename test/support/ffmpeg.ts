/**
 * The system's ffmpeg (5.1 on Debian 12) as publisher. Tests that use it take `needs('ffmpeg')` as options.
 */
import { type ExternalEncoder, startEncoder } from './external-encoder.ts';

/** What to publish. The default is 640x360 at 30 frames per second, a keyframe every second, no B-frames, and audio. */
export interface FfmpegOptions {
  readonly fps?: string;
  /** Keyframe interval in frames. */
  readonly gop?: number;
  readonly bFrames?: number;
  readonly bitrate?: string;
  /** False for audio only. */
  readonly video?: boolean;
  /** False for video only. */
  readonly audio?: boolean;
  /** A file to send instead of encoding anything: unchanged, in real time, again and again. */
  readonly file?: string;
}

/** Publishes ffmpeg's test picture and a tone until it is stopped. */
export function startFfmpeg(url: string, options: FfmpegOptions = {}): ExternalEncoder {
  const { fps = '30', gop = 30, bFrames = 0, bitrate = '1M', video = true, audio = true, file } = options;
  const x264 = `-c:v libx264 -preset ultrafast -pix_fmt yuv420p -b:v ${bitrate}`;
  const gops = `-x264-params keyint=${gop}:min-keyint=1:scenecut=0:bframes=${bFrames}`;
  const generated = [
    ...(video ? ['-re', '-f', 'lavfi', '-i', `testsrc2=size=640x360:rate=${fps}`] : []),
    ...(audio ? ['-re', '-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'] : []),
    ...`${x264} ${gops} -c:a aac -b:a 96k -ac 2`.split(' '),
  ];
  const source = file === undefined ? generated : ['-re', '-stream_loop', '-1', '-i', file, '-c', 'copy'];
  return startEncoder('ffmpeg', [
    '-nostdin',
    '-hide_banner',
    '-loglevel',
    'warning',
    '-re',
    ...source,
    '-f',
    'flv',
    url,
  ]);
}
