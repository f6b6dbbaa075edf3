/**
 * Settings of the RTMP server, and the limits that are facts of the protocol rather than wishes of an operator.
 */
import { integer, portOrOff, type SettingValues, text } from '#lib/setting.ts';

const CONNECTIONS = { min: 1, max: 100_000 };
const SECONDS = { min: 1, max: 3600 };

/** What an operator may set. */
export const rtmpSettings = {
  rtmpHost: text('RTMP_HOST', '0.0.0.0', 'Address RTMP and RTMPS listen on'),
  rtmpPort: portOrOff('RTMP_PORT', '1935', 'Port RTMP listens on, unencrypted'),
  rtmpsPort: portOrOff('RTMPS_PORT', '1936', 'Port RTMPS (RTMP in TLS) listens on, when there is a certificate'),
  publicRtmpUrl: {
    name: 'PUBLIC_RTMP_URL',
    fallback: undefined,
    help: 'Where encoders reach this server, where that is not the host of the request and the port listened on: rtmp:// or rtmps://, host and port, such as rtmps://live.example.com:443; several separated by commas',
    parse: parsePublicRtmpUrls,
  },
  rtmpMaxConnections: integer(
    'RTMP_MAX_CONNECTIONS',
    '1000',
    'RTMP and RTMPS connections at the same time',
    CONNECTIONS,
  ),
  rtmpMaxUnauthenticated: integer(
    'RTMP_MAX_UNAUTHENTICATED',
    '300',
    'RTMP connections at the same time that have not been accepted as publishers; a quarter of them is reserved for addresses that published within a day',
    CONNECTIONS,
  ),
  rtmpMaxPerAddress: integer(
    'RTMP_MAX_PER_ADDRESS',
    '150',
    'RTMP connections at the same time from one address, or one /64 of IPv6',
    CONNECTIONS,
  ),
  rtmpConnectionsPerMinute: integer(
    'RTMP_CONNECTIONS_PER_MINUTE',
    '300',
    'New RTMP connections a minute from one address, or one /64 of IPv6. An IPv4 /24 or IPv6 /48, and an address that published within a day, may make four times as many; all other addresses together may make forty times as many',
    { min: 1, max: 1_000_000 },
  ),
  rtmpHandshakeTimeoutS: integer(
    'RTMP_HANDSHAKE_TIMEOUT_S',
    '5',
    'Seconds an RTMP handshake may take, that of TLS before it included',
    SECONDS,
  ),
  rtmpPublishTimeoutS: integer(
    'RTMP_PUBLISH_TIMEOUT_S',
    '10',
    'Seconds an RTMP connection may take until it publishes',
    SECONDS,
  ),
  rtmpIdleTimeoutS: integer(
    'RTMP_IDLE_TIMEOUT_S',
    '20',
    'Seconds without a byte after which an RTMP publisher counts as lost',
    SECONDS,
  ),
};

/** Their values. */
export type RtmpSettings = SettingValues<typeof rtmpSettings>;

/** How a publisher is connected: over TCP, or over TLS. */
export type RtmpScheme = 'rtmp' | 'rtmps';

/** A message declared longer is refused before anything is kept for it; the largest sane keyframe fits many times. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
/** What a connection nobody has vouched for yet may declare: commands only, and those are small. */
export const MAX_UNAUTHENTICATED_MESSAGE_BYTES = 64 * 1024;
/** Declared bytes of all messages a connection has begun and not finished. */
export const MAX_INCOMPLETE_BYTES = 16 * 1024 * 1024;
/** Encoders use at most eight. */
export const MAX_CHUNK_STREAMS = 32;
/** Below this, headers cost more than they carry: a way to burn our CPU (red5#475). It is also RTMP's default. */
export const MIN_CHUNK_SIZE = 128;
/** RTMP's own limit (§5.4.1). A large one costs us nothing, since no chunk is larger than its message; some state 128 MB. */
export const MAX_CHUNK_SIZE = 0x7fffffff;
/** AMF beyond this is ignored (metadata) or refused (commands). */
export const MAX_AMF_BYTES = 64 * 1024;
/** The most AMF values in one command. `connect` with all lists of Enhanced RTMP has some forty. */
export const MAX_COMMAND_VALUES = 256;
/** The most AMF values in one metadata message. A list of keyframes that was copied from a file may have thousands: it is ignored. */
export const MAX_METADATA_VALUES = 1024;
/**
 * The most messages and reads, counted together, of a connection before its publish is accepted. Encoders need some twenty. This bounds the
 * work that a stranger can cause with one connection.
 */
export const MAX_WORK_BEFORE_ACCEPTED = 100;
/** The most messages of a publisher in one second that are not media, or are empty; encoders send a handful. */
export const MAX_CONTROL_MESSAGES_PER_S = 500;
/**
 * As how many messages without media an Abort counts. Encoders never send it, and each one lets a peer make us allocate the memory of a
 * whole message in vain for a few bytes.
 */
export const ABORT_COUNTS_AS = 50;
/**
 * The most publishes and changes of configuration or metadata in one second, counted together. Each makes viewers and the transcoder begin
 * anew. An encoder publishes once and has one configuration for each track.
 */
export const MAX_NEW_STARTS_PER_S = 10;
/**
 * The most media messages of a publisher that are read in one second; the rest is read in the next. Encoders send 50 to 200, so ten
 * seconds of media that queued up while the network was away are read at once.
 */
export const MAX_MEDIA_MESSAGES_PER_S = 2000;
/** The most messages of a connection that are handled in one turn of the event loop. */
export const MAX_MESSAGES_A_TURN = 64;
/** A read of a publisher that brings less than this counts as small: it costs more work than its bytes are worth. */
export const SMALL_READ_BYTES = 1024;
/**
 * The most small reads of a publisher between two sweeps. Beyond it, reading goes on after the next sweep, when more bytes have gathered.
 * An encoder that sends 4 Mbit/s in chunks of 128 bytes, each in a packet of its own, stays within it.
 */
export const MAX_SMALL_READS_PER_SWEEP = 400;
/** Our own bytes the peer has not taken yet: replies are small, so a peer that lets them pile up does not read. */
export const MAX_OUTPUT_BYTES = 64 * 1024;
/** How long the gate may take to decide; the publisher waits meanwhile. */
export const GATE_TIMEOUT_MS = 5000;
/** Stream names beyond this are no key of ours. */
export const MAX_STREAM_NAME_LENGTH = 512;

/** How much we say we take before we acknowledge, and how much we let ourselves send. */
export const WINDOW_BYTES = 2_500_000;
/** ffmpeg answers our chunk size by using it itself, and large chunks are cheap to read. */
export const OUTGOING_CHUNK_SIZE = 60_000;
/** Pings go to a peer silent this long. */
export const PING_AFTER_MS = 5000;
/** How long a peer that was refused or disconnected may take to read why. */
export const CLOSE_WITHIN_MS = 700;
/** The most TLS handshakes under way at the same time: all of them may reach their costly step at the same moment. */
export const MAX_TLS_HANDSHAKES = 24;
/** How long a connection waits for its TLS handshake to begin before it may take the place of a handshake under way. */
export const TLS_PATIENCE_MS = 500;
/** The most publishes of one address in a minute whose start and end have log lines of their own; further ones are counted. */
export const MAX_PUBLISHES_SHOWN_PER_MINUTE = 30;

/** How often connections are looked at: the grain of every time limit. */
export const SWEEP_MS = 100;

/** @returns each without a slash at the end */
function parsePublicRtmpUrls(value: string): readonly string[] {
  return value.split(',').map((entry) => {
    const text = entry.trim();
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isOrigin = url !== undefined && /^rtmps?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?\/?$/i.test(text);
    if (!isOrigin)
      throw new Error('must be rtmp:// or rtmps:// with a host and maybe a port, such as rtmps://live.example.com:443');
    return `${url.protocol}//${url.host}`;
  });
}
