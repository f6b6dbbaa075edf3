/**
 * One recording or clip: plays it, downloads it, and cuts clips of it.
 */
import { useRef, useState } from 'preact/hooks';
import { change, get } from '../../shared/api.ts';
import { useData, usePages } from '../../shared/data.ts';
import { bytes, clock, codecName, dateTime, duration } from '../../shared/format.ts';
import { needsToken, tokenQuery, useOwnerToken } from '../../shared/owner-token.ts';
import { go, hrefOf } from '../../shared/router.ts';
import type { Asset, Playback } from '../../shared/types.ts';
import { Button, ButtonLink } from '../../shared/ui/button.tsx';
import { CopyCurl, CopyField } from '../../shared/ui/copy.tsx';
import { Confirm } from '../../shared/ui/dialog.tsx';
import { FormFailure, TextField, useForm } from '../../shared/ui/form.tsx';
import { ListCard, Waiting } from '../../shared/ui/list.tsx';
import { Card, Empty, Message, PageHead, Stat } from '../../shared/ui/parts.tsx';
import { toast } from '../../shared/ui/toast.tsx';
import type { PageProps } from '../page-props.ts';
import { watchUrl } from '../parts/watch.tsx';
import { spanOf } from './clip-span.ts';
import { AssetState, CLIP_COLUMNS } from './recordings.tsx';
import { spansOf, wallTimeOf } from './wall-time.ts';

const GROWING_MS = 5000;

/** The page of a recording or clip. */
export function RecordingPage({ params: { id = '' } }: PageProps) {
  const [isGrowing, setGrowing] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const video = useRef<HTMLVideoElement>(null);
  const data = useData(
    `asset ${id}`,
    async (signal) => {
      const asset = await get<Asset>(`/asset/${id}`, { signal });
      setGrowing(mayGrow(asset));
      return asset;
    },
    { everyMs: isGrowing ? GROWING_MS : undefined },
  );
  const clips = usePages<Asset>(`/asset/${id}/clips?limit=50`, { on: ({ type }) => type.startsWith('asset.') });
  const asset = data.value;
  const playback = useData(`policy of asset ${asset?.playbackId}`, async (signal) =>
    asset === undefined ? undefined : await get<Playback>(`/playback/${asset.playbackId}`, { signal }),
  );
  const isJudged = playback.value !== undefined || playback.error !== undefined;
  // While a recording runs, the server may be set up to show it only to its owner. Afterwards the address stays, so that the video goes on.
  const hasGrown = useRef(false);
  hasGrown.current ||= isGrowing;
  const token = useOwnerToken(`/asset/${id}`, hasGrown.current || needsToken(playback.value?.meta.playbackPolicy));
  if (asset === undefined) return <Waiting data={data} lines={8} />;
  const { videoSpec, source } = asset;
  const isClip = source.type === 'clip';
  return (
    <>
      <PageHead
        title={asset.name}
        back={{ href: hrefOf('/recordings'), name: 'Recordings' }}
        badge={<AssetState asset={asset} />}
        actions={
          <>
            {asset.downloadUrl !== undefined && (
              <ButtonLink kind="primary" icon="download" href={asset.downloadUrl + tokenQuery(token)} outside>
                Download MP4
              </ButtonLink>
            )}
            <ButtonLink icon="history" href={hrefOf(`/sessions/${source.sessionId}`)}>
              Its session
            </ButtonLink>
            <Button icon="trash" label="Delete" onPress={() => setDeleting(true)} />
          </>
        }
      />
      {asset.status.errorMessage !== undefined && <Message tone="bad">{asset.status.errorMessage}</Message>}
      <div class="stream-top">
        <Card flush>
          {asset.downloadUrl === undefined ? (
            <Empty icon="film" title="There is nothing to watch yet" />
          ) : (
            // biome-ignore lint/a11y/useMediaCaption: nobody has written captions for a recording.
            <video
              ref={video}
              class="recorded"
              controls
              playsInline
              preload="metadata"
              src={
                isJudged && token !== undefined ? new URL(asset.downloadUrl).pathname + tokenQuery(token) : undefined
              }
            />
          )}
          <div class="below-video">
            <CopyField name="Page for viewers" value={watchUrl(asset.playbackId)} />
            {asset.playbackUrl !== undefined && <CopyField name="Address for players" value={asset.playbackUrl} />}
          </div>
        </Card>
        <div class="stack">
          <Card title="Numbers">
            <dl class="stats">
              <Stat name="Length" value={videoSpec ? duration(videoSpec.duration) : '–'} />
              <Stat name="Size" value={asset.size === undefined ? '–' : bytes(asset.size)} />
              <Stat name="Made" value={dateTime(asset.createdAt)} />
              {videoSpec?.tracks.map(({ type, codec, width, height }) => (
                <Stat
                  key={type}
                  name={type === 'video' ? 'Video' : 'Audio'}
                  value={codecName(codec).toUpperCase()}
                  note={width ? `${width}×${height}` : undefined}
                />
              ))}
            </dl>
          </Card>
          {asset.startTime !== undefined && isJudged && token !== undefined && (
            <MakeClip asset={asset} video={video} token={token} onDone={clips.reload} />
          )}
        </div>
      </div>
      {!isClip && clips.value !== undefined && clips.value.length > 0 && (
        <ListCard title="Clips" data={clips} caption="Clips of this recording" columns={CLIP_COLUMNS} />
      )}
      {isDeleting && (
        <Confirm
          title={`Delete this ${isClip ? 'clip' : 'recording'}?`}
          action="Delete it"
          onClose={() => setDeleting(false)}
          changes={[['DELETE', `/asset/${id}`]]}
          onDone={() => {
            toast('It is deleted.');
            go('/recordings', 'replace');
          }}
        >
          <p>
            {videoSpec && `${duration(videoSpec.duration)} of media are lost. `}
            Its addresses stop working at once, and it cannot be brought back.{' '}
            {isClip ? 'The recording stays.' : 'Clips of it stay, with the media that they show.'}
          </p>
        </Confirm>
      )}
    </>
  );
}

const mayGrow = ({ status: { phase } }: Asset): boolean => phase === 'waiting' || phase === 'processing';

/** Reads the playlist with the same media as the MP4; empty when there is no MP4. */
async function readPlaylist({ downloadUrl }: Asset, token: string, signal: AbortSignal): Promise<string> {
  if (downloadUrl === undefined) return '';
  const path = new URL(downloadUrl).pathname.replace(/\.\w+$/, '.m3u8');
  const response = await fetch(path + tokenQuery(token), { signal });
  if (!response.ok) throw new Error('The times of the recording could not be read. Load this page again.');
  return await response.text();
}

/** Creates a clip from two marks, which the user sets while the video plays. */
function MakeClip({
  asset,
  video,
  token,
  onDone,
}: {
  readonly asset: Asset;
  readonly video: { readonly current: HTMLVideoElement | null };
  readonly token: string;
  readonly onDone: () => void;
}) {
  const [name, setName] = useState('');
  const [fromS, setFromS] = useState<number | undefined>();
  const [untilS, setUntilS] = useState<number | undefined>();
  const position = () => video.current?.currentTime ?? 0;
  const lengthS = asset.videoSpec?.duration ?? 0;
  const seek = (seconds: number) => {
    if (video.current !== null) video.current.currentTime = seconds;
  };
  const span = spanOf(fromS, untilS);
  // Marks in a running recording may be in media that was not there when the page was opened.
  const isBehind = span !== undefined && mayGrow(asset);
  const times = useData(
    `times of ${asset.id} ${isBehind}`,
    async (signal) => spansOf(await readPlaylist(asset, token, signal), asset.startTime!),
    { everyMs: isBehind ? GROWING_MS : undefined },
  );
  const startTime = span && times.value && wallTimeOf(times.value, span.fromS);
  const endTime = span && times.value && wallTimeOf(times.value, span.untilS);
  const body = startTime !== undefined && {
    playbackId: asset.playbackId,
    sessionId: asset.source.sessionId,
    startTime,
    endTime,
    ...(name !== '' && { name }),
  };
  const form = useForm(async () => {
    const { asset: clip } = await change<{ asset: Asset }>('POST', '/clip', body);
    toast('The clip is ready.', 'ok', { name: 'Open it', run: () => go(`/recordings/${clip.id}`) });
    setFromS(undefined);
    setUntilS(undefined);
    setName('');
    onDone();
  });
  return (
    <Card
      title="Make a clip"
      note="Mark it on the line, or play to where it begins and mark that, then to where it ends. Nothing is encoded: the clip is ready at once, exact to the frame."
    >
      <form onSubmit={form.submit}>
        {lengthS > 0 && (
          <div class="clip-line" style={{ '--from': (fromS ?? 0) / lengthS, '--until': (untilS ?? lengthS) / lengthS }}>
            <Handle
              name="Beginning of the clip"
              lengthS={lengthS}
              atS={fromS ?? 0}
              onMove={(seconds) => {
                setFromS(seconds);
                setUntilS(untilS ?? lengthS);
                seek(seconds);
              }}
            />
            <Handle
              name="End of the clip"
              lengthS={lengthS}
              atS={untilS ?? lengthS}
              onMove={(seconds) => {
                setFromS(fromS ?? 0);
                setUntilS(seconds);
                seek(seconds);
              }}
            />
          </div>
        )}
        <div class="row">
          <Button icon="play" onPress={() => setFromS(position())}>
            Begins here
          </Button>
          <Button icon="stop" onPress={() => setUntilS(position())}>
            Ends here
          </Button>
          <span class="soft number">{markWords(fromS, untilS)}</span>
        </div>
        <TextField
          label="Name"
          value={name}
          onValue={setName}
          placeholder="the goal"
          maxLength={512}
          error={form.errorOf('name')}
        />
        <FormFailure form={form} fields={['name']} />
        {times.error !== undefined && <Waiting data={times} />}
        <div class="row">
          <Button
            kind="primary"
            type="submit"
            busy={form.isBusy}
            forbidden={
              span === undefined
                ? 'Mark where the clip begins and ends first.'
                : body
                  ? undefined
                  : 'The times of the recording are not known yet.'
            }
          >
            Make the clip
          </Button>
          {body && <CopyCurl changes={[['POST', '/clip', body]]} />}
        </div>
      </form>
    </Card>
  );
}

/** A handle on the line that stands for the recording. Arrow keys move it as well. */
function Handle({
  name,
  lengthS,
  atS,
  onMove,
}: {
  readonly name: string;
  readonly lengthS: number;
  readonly atS: number;
  readonly onMove: (seconds: number) => void;
}) {
  return (
    <input
      type="range"
      min={0}
      max={lengthS}
      step={0.1}
      value={atS}
      aria-label={name}
      aria-valuetext={clock(atS)}
      onInput={(event) => onMove(event.currentTarget.valueAsNumber)}
    />
  );
}

/** What is marked so far. */
function markWords(oneS: number | undefined, otherS: number | undefined): string {
  const span = spanOf(oneS, otherS);
  if (span) return `${clock(span.fromS)} to ${clock(span.untilS)}, ${duration(span.untilS - span.fromS)} long`;
  if (oneS !== undefined) return `Begins at ${clock(oneS)}`;
  return otherS === undefined ? '' : `Ends at ${clock(otherS)}`;
}
