/**
 * GStreamer's `rtmp2sink` as publisher. Tests that use it take `needs('gst-launch-1.0')` as options.
 */
import { type ExternalEncoder, startEncoder } from './external-encoder.ts';

/** Publishes GStreamer's test picture and ticks until it is stopped. With `-e`, an interrupt ends the stream cleanly. */
export function startGstreamer(url: string): ExternalEncoder {
  const video = 'videotestsrc is-live=true ! video/x-raw,width=640,height=360,framerate=30/1';
  const encoder = 'x264enc tune=zerolatency speed-preset=ultrafast key-int-max=30 bitrate=1000';
  const audio = 'audiotestsrc is-live=true wave=ticks ! audio/x-raw,rate=48000,channels=2 ! voaacenc ! aacparse';
  const pipeline = `${video} ! ${encoder} ! h264parse ! mux. ${audio} ! mux. flvmux name=mux streamable=true ! rtmp2sink timeout=60`;
  return startEncoder('gst-launch-1.0', ['-e', '-q', ...pipeline.split(' '), `location=${url}`]);
}
