/**
 * The health of a stream: a sentence with what to change, then the measured values.
 */
import { bitrate, codecName, count, sentence } from '../../shared/format.ts';
import type { Session, Stream } from '../../shared/types.ts';
import { Ago, Badge, Card, Elapsed, Empty, Message, Stat } from '../../shared/ui/parts.tsx';
import { adviceFor } from '../parts/advice.ts';
import { encoderTitle } from '../parts/encoder-name.ts';

const GOOD_KEYFRAME_S = 4;
const LAG_MS = 1000;

/** The card with the health of a stream. */
export function StreamHealth({ stream, session }: { readonly stream: Stream; readonly session: Session | null }) {
  const { health, isActive } = stream;
  if (!isActive || health === undefined) {
    return (
      <Card title="Health">
        <Empty icon="chart" title="No media is coming in">
          While the stream is live, its bitrate, frame rate, keyframes and renditions are measured here, and you are
          told what to change.
        </Empty>
      </Card>
    );
  }
  const { source, renditions, leftOut, transcoder, warnings, encoder } = health;
  const { video, audio } = source;
  return (
    <Card title="Health" actions={<Elapsed since={session?.createdAt} />}>
      <div class="stack">
        {warnings.length === 0 ? (
          <Message tone="ok" title="Everything is as it should be">
            <bdi>{encoderTitle(encoder)}</bdi> sends steadily, and all renditions are being made.
          </Message>
        ) : (
          warnings.map(({ code, severity, message, since }) => (
            <Message
              key={code}
              tone={severity === 'issue' ? 'warn' : 'info'}
              title={sentence(message)}
              action={
                <span class="small soft">
                  since <Ago at={since} />
                </span>
              }
            >
              {adviceFor(code, encoder)}
            </Message>
          ))
        )}
        <dl class="stats">
          <Stat name="Ingest" value={bitrate((stream.ingestRate ?? 0) * 8)} />
          {video && (
            <Stat name="Frame rate" value={video.fps === undefined ? '–' : `${Math.round(video.fps * 10) / 10} fps`} />
          )}
          {video && (
            <Stat
              name="Keyframe every"
              value={video.keyframeInterval === undefined ? '–' : `${Math.round(video.keyframeInterval * 10) / 10} s`}
              tone={(video.keyframeInterval ?? 0) > GOOD_KEYFRAME_S ? 'warn' : undefined}
            />
          )}
          <Stat
            name="Viewers"
            value={session?.viewers ?? 0}
            note={session ? `${session.peakViewers} at most` : undefined}
          />
          {transcoder && (
            <Stat
              name="Transcoder behind"
              value={`${(transcoder.lag / 1000).toFixed(1)} s`}
              tone={transcoder.lag > LAG_MS ? 'warn' : undefined}
            />
          )}
        </dl>
        <dl class="facts small">
          <dt>Encoder</dt>
          <dd dir="auto">{encoderTitle(encoder)}</dd>
          {video && (
            <>
              <dt>Video</dt>
              <dd>
                {codecName(video.codec)}, {video.width}×{video.height}, {bitrate(video.bitrate)}
              </dd>
            </>
          )}
          <dt>Audio</dt>
          <dd>
            {audio
              ? `${codecName(audio.codec)}, ${audio.sampleRate / 1000} kHz, ${audio.channels === 1 ? 'mono' : audio.channels === 2 ? 'stereo' : `${audio.channels} channels`}, ${bitrate(audio.bitrate)}`
              : 'None'}
          </dd>
          <dt>Renditions</dt>
          <dd class="row">
            <Badge tone="ok">source{watchers(source.viewers)}</Badge>
            {renditions.map(({ name, state, viewers }) => (
              <Badge key={name} tone={state === 'running' ? 'ok' : state === 'shed' ? 'bad' : 'plain'}>
                <bdi>{name}</bdi>
                {state === 'shed'
                  ? ' paused: the server is busy'
                  : state === 'waiting'
                    ? ' starting'
                    : watchers(viewers)}
              </Badge>
            ))}
            {leftOut.map(({ name, reason }) => (
              <Badge key={name} tone="plain">
                <bdi>{name}</bdi> left out:{' '}
                {reason === 'encoder_failed' ? 'its encoder failed' : 'larger than the source'}
              </Badge>
            ))}
          </dd>
        </dl>
      </div>
    </Card>
  );
}

/** The number of viewers of a rendition, as text after its name. */
const watchers = (viewers: number | undefined): string =>
  viewers === undefined ? '' : ` · ${count(viewers, 'viewer')}`;
