/**
 * Shows how to publish to a stream: the two fields for OBS, and commands for ffmpeg and GStreamer.
 */
import { useState } from 'preact/hooks';
import { get } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { loaded } from '../../shared/loaded.ts';
import { ROOT } from '../../shared/place.ts';
import { hrefOf } from '../../shared/router.ts';
import type { Ingest, Stream } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Tabs } from '../../shared/ui/choice.tsx';
import { CopyButton, CopyField } from '../../shared/ui/copy.tsx';
import { Confirm, Dialog } from '../../shared/ui/dialog.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Message } from '../../shared/ui/parts.tsx';
import { toast } from '../../shared/ui/toast.tsx';

const WAYS = [
  ['obs', 'OBS'],
  ['ffmpeg', 'ffmpeg'],
  ['gstreamer', 'GStreamer'],
  ['other', 'Other'],
] as const;
type Way = (typeof WAYS)[number][0];
const SCHEMES = [
  ['rtmp', 'RTMP'],
  ['rtmps', 'RTMPS, encrypted'],
] as const;

/** The panel with all ways to publish. @param props.onStream called with the stream after its key was replaced */
export function Connect({
  stream,
  onStream,
}: {
  readonly stream: Stream;
  readonly onStream: (stream: Stream) => void;
}) {
  const ingest = useData('ingest', (signal) => get<readonly Ingest[]>('/ingest', { signal }));
  const [way, setWay] = useState<Way>('obs');
  const [scheme, setScheme] = useState('rtmp');
  const [isRotating, setRotating] = useState(false);
  const [isQrShown, setQrShown] = useState(false);
  const { streamKey } = stream;
  if (streamKey === undefined) {
    return (
      <Message tone="info" title="The stream key is not shown">
        The rules of your API key do not allow you to publish. Sign in with another key, or ask the owner of the stream.
      </Message>
    );
  }
  const servers = ingest.value?.map((each) => each.ingest) ?? [];
  if (ingest.value?.length === 0) {
    return (
      <Message tone="warn" title="This server takes no streams">
        RTMP is off, and RTMPS needs TLS. Set MILLRACE_RTMP_PORT, or MILLRACE_TLS_CERT and MILLRACE_TLS_KEY.
      </Message>
    );
  }
  const server = servers.find((each) => each.startsWith(`${scheme}:`)) ?? servers[0];
  if (server === undefined) return <Waiting data={ingest} />;
  const url = `${server}/${streamKey}`;
  return (
    <div class="stack connect">
      <Tabs label="Your encoder" options={WAYS} chosen={way} onChoose={setWay} />
      {servers.length > 1 && <Tabs label="Connection" options={SCHEMES} chosen={scheme} onChoose={setScheme} />}
      {way === 'obs' && (
        <>
          <p class="soft">
            In OBS, open <b>Settings → Stream</b>, choose Service <b>Custom…</b>, and paste both:
          </p>
          <CopyField name="Server" value={server} />
          <CopyField
            name="Stream Key"
            value={streamKey}
            secret
            hint="Whoever has this key can publish to the stream."
          />
          <p class="soft">
            Then <b>Settings → Output</b>, Output Mode <b>Advanced</b>: Keyframe Interval <b>2 s</b>. Close the settings
            and press <b>Start Streaming</b>.
          </p>
          <CopyField
            name="Dock"
            value={new URL(hrefOf(`/dock/${stream.id}`), ROOT).href}
            hint="Shows this stream’s health and viewers inside OBS: Docks → Custom Browser Docks…, paste it as URL, and sign in there with a read-only key once every 30 days."
          />
        </>
      )}
      {way === 'ffmpeg' && (
        <Command
          name="ffmpeg"
          text={ffmpegCommand(url)}
          secret={streamKey}
          hint="Sends a test pattern with a tone. Put your own input in place of both -f lavfi parts."
        />
      )}
      {way === 'gstreamer' && (
        <Command
          name="GStreamer"
          text={gstreamerCommand(url)}
          secret={streamKey}
          hint="Sends a test pattern with a tone."
        />
      )}
      {way === 'other' && (
        <>
          <p class="soft">Some apps want one address, others two fields. Both mean the same.</p>
          <CopyField name="One address" value={url} secret />
          <CopyField name="Server" value={server} />
          <CopyField name="Stream key" value={streamKey} secret />
          <div class="row">
            <Button icon="phone" onPress={() => setQrShown(true)}>
              Show a QR code for a phone
            </Button>
          </div>
        </>
      )}
      <div class="row">
        <Button kind="quiet" small icon="rotate" onPress={() => setRotating(true)}>
          Replace the stream key
        </Button>
      </div>
      {isRotating && (
        <Confirm
          title="Replace the stream key?"
          action="Replace the key"
          onClose={() => setRotating(false)}
          changes={[['POST', `/stream/${stream.id}/rotate-key`]]}
          onDone={(changed) => {
            onStream(changed as Stream);
            toast('The stream has a new key. Copy it into your encoder.');
          }}
        >
          <p>
            The stream gets a new key, and the old one is refused from then on.{' '}
            {stream.isActive && 'The encoder that is live now is disconnected. '}
            Viewers keep their address.
          </p>
        </Confirm>
      )}
      {isQrShown && (
        <Qr title="Scan with the streaming app of a phone" text={url} onClose={() => setQrShown(false)} secret />
      )}
    </div>
  );
}

function Command({
  name,
  text,
  secret,
  hint,
}: {
  readonly name: string;
  readonly text: string;
  readonly secret: string;
  readonly hint: string;
}) {
  const [shown, setShown] = useState<string | undefined>();
  const isShown = shown === secret;
  return (
    <>
      <div class="code-block" dir="ltr">
        <pre>{isShown ? text : text.replaceAll(secret, '••••-••••-••••-••••')}</pre>
        <CopyButton text={text} what={`the ${name} command`} />
      </div>
      <div class="row">
        <span class="hint">{hint}</span>
        <Button kind="quiet" small icon="eye" pressed={isShown} onPress={() => setShown(isShown ? undefined : secret)}>
          {isShown ? 'Cover the key' : 'Show the key'}
        </Button>
      </div>
    </>
  );
}

/** A QR code in a dialog. */
export function Qr({
  title,
  text,
  secret = false,
  onClose,
}: {
  readonly title: string;
  readonly text: string;
  readonly secret?: boolean;
  readonly onClose: () => void;
}) {
  const code = useData(`code ${text}`, async () => (await loaded(import('../../shared/qr.ts'))).qrPath(text));
  const path = code.value;
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="qr">
        {path ? (
          <svg
            viewBox={`0 0 ${path.size} ${path.size}`}
            role="img"
            aria-label={`QR code: ${secret ? 'the address with the stream key' : text}`}
          >
            <path d={path.d} />
          </svg>
        ) : (
          <Waiting data={code} lines={1} />
        )}
      </div>
      {secret ? (
        <Message tone="warn">
          The code holds the stream key. Do not show it on a stream or a screen that others see.
        </Message>
      ) : (
        <p class="hint" dir="ltr">
          {text}
        </p>
      )}
    </Dialog>
  );
}

const ffmpegCommand = (url: string): string => `ffmpeg -re \\
  -f lavfi -i testsrc2=size=1280x720:rate=30 -f lavfi -i sine=frequency=440 \\
  -c:v libx264 -preset veryfast -tune zerolatency -g 60 -pix_fmt yuv420p -b:v 2500k \\
  -c:a aac -b:a 128k -f flv '${url}'`;

const gstreamerCommand = (
  url: string,
): string => `gst-launch-1.0 -e flvmux name=mux streamable=true ! rtmp2sink location='${url}' \\
  videotestsrc is-live=true ! video/x-raw,width=1280,height=720,framerate=30/1 ! videoconvert \\
  ! x264enc tune=zerolatency bitrate=2500 key-int-max=60 ! h264parse ! mux. \\
  audiotestsrc is-live=true wave=ticks ! audioconvert ! fdkaacenc bitrate=128000 ! mux.`;
