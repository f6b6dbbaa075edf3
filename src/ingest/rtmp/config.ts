/**
 * Settings of the RTMP server, and fixed limits that follow from the protocol.
 */
import { integer, portOrOff, type SettingValues, text } from '#lib/setting.ts';

const CONNECTIONS = { min: 1, max: 100_000 };
const SECONDS = { min: 1, max: 3600 };

/** The settings of the RTMP server that an operator may change. */
export const rtmpSettings = {
  rtmpHost: text('RTMP_HOST', '0.0.0.0', 'Address RTMP and RTMPS listen on'),
  rtmpPort: portOrOff('RTMP_PORT', '1935', 'Port RTMP listens on, unencrypted'),
  rtmpsPort: portOrOff('RTMPS_PORT', '1936', 'Port RTMPS (RTMP in TLS) listens on, when there is a certificate'),
  publicRtmpUrl: {
    name: 'PUBLIC_RTMP_URL',
    fallback: undefined,
    help: 'URLs at which encoders reach this server, separated by commas, such as rtmps://live.example.com:443. When it is not set, the API gives the host of each request and the port that the server listens on',
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
    'RTMP connections at the same time that have not been accepted as publishers. A quarter of them is reserved for addresses that published in the last day',
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
    'New RTMP connections a minute from one address, or one /64 of IPv6. An IPv4 /24 or IPv6 /48, and an address that published in the last day, may make four times as many. All addresses that did not publish may together make forty times as many',
    { min: 1, max: 1_000_000 },
  ),
  rtmpHandshakeTimeoutS: integer(
    'RTMP_HANDSHAKE_TIMEOUT_S',
    '5',
    'Seconds an RTMP handshake may take, including the TLS handshake before it',
    SECONDS,
  ),
  rtmpPublishTimeoutS: integer(
    'RTMP_PUBLISH_TIMEOUT_S',
    '10',
    'Seconds within which an RTMP connection must begin to publish',
    SECONDS,
  ),
  rtmpIdleTimeoutS: integer(
    'RTMP_IDLE_TIMEOUT_S',
    '20',
    'Seconds after which an RTMP publisher that sends nothing is disconnected',
    SECONDS,
  ),
};

/** The values of the settings. */
export type RtmpSettings = SettingValues<typeof rtmpSettings>;

/** How a publisher is connected: over TCP, or over TLS. */
export type RtmpScheme = 'rtmp' | 'rtmps';

/** The longest message. A longer one is refused before memory is allocated for it. The largest realistic keyframe fits several times. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
/** The longest message before a publish is accepted. Only commands are sent until then, and these are short. */
export const MAX_UNAUTHENTICATED_MESSAGE_BYTES = 64 * 1024;
/** The most bytes that all incomplete messages of a connection may declare together. */
export const MAX_INCOMPLETE_BYTES = 16 * 1024 * 1024;
/** The most chunk streams of a connection. Encoders use at most eight. */
export const MAX_CHUNK_STREAMS = 32;
/** The most AMF values in one metadata message. A list of keyframes that was copied from a file may have thousands: it is ignored. */
export const MAX_METADATA_VALUES = 1024;
/**
 * The most messages and reads, counted together, of a connection before its publish is accepted. Encoders need some twenty. This bounds the
 * work that a stranger can cause with one connection.
 */
export const MAX_WORK_BEFORE_ACCEPTED = 100;
/** The most messages of a publisher in one second that are not media, or are empty. Encoders send a handful. */
export const MAX_CONTROL_MESSAGES_PER_S = 500;
/**
 * An Abort counts as this many messages without media. Encoders never send it, and with a few bytes it makes the server allocate the
 * memory of a whole message for nothing.
 */
export const ABORT_COUNTS_AS = 50;
/**
 * The most publishes and changes of configuration in one second, counted together. Each makes viewers and the transcoder begin again. An
 * encoder publishes once and has one configuration for each track.
 */
export const MAX_NEW_STARTS_PER_S = 10;
/**
 * The most media messages of a publisher that are read in one second. The rest is read in the next. Encoders send 50 to 200, so ten
 * seconds of media that queued up while the network was away are read at once.
 */
export const MAX_MEDIA_MESSAGES_PER_S = 2000;
/** The most messages of a connection that are handled in one turn of the event loop. */
export const MAX_MESSAGES_A_TURN = 64;
/**
 * After this many milliseconds, the other messages of a connection wait for the next turn. Some messages cost far more than others: the
 * first one after a jump of the timestamps begins a segment in every rendition.
 */
export const MAX_TURN_MS = 3;
/**
 * After this many bytes of a connection, all other work of the event loop has its turn before more is read. Otherwise Node would read up to
 * 2 MiB of each socket at once after a moment in which the server got no CPU time, because libuv reads a full socket up to 32 times in a
 * row.
 */
export const MAX_BYTES_A_TURN = 64 * 1024;
/** A read that has fewer bytes than this shows that no more bytes wait to be read. */
export const LARGE_READ_BYTES = 16 * 1024;
/** A read from a publisher's socket counts as small when it has fewer bytes than this: it then costs more work than its bytes are worth. */
export const SMALL_READ_BYTES = 1024;
/**
 * The most small reads of a publisher between two sweeps. After that, reading continues with the next sweep, when more bytes have arrived.
 * An encoder that sends 4 Mbit/s in chunks of 128 bytes, each in a packet of its own, stays within it.
 */
export const MAX_SMALL_READS_PER_SWEEP = 400;
/** The most bytes of replies that a peer has not read. Replies are short, so a peer that exceeds this does not read at all. */
export const MAX_OUTPUT_BYTES = 64 * 1024;
/** How long the gate may take to decide. The publisher waits for its answer. */
export const GATE_TIMEOUT_MS = 5000;
/** The longest stream name that can be a stream key. */
export const MAX_STREAM_NAME_LENGTH = 512;

/** The window of acknowledgements, which a peer can change for those it gets, and the bandwidth that the server declares for the peer. */
export const WINDOW_BYTES = 2_500_000;
/** The chunk size of the server. FFmpeg adopts the size for its own chunks, and large chunks are cheap to read. */
export const OUTGOING_CHUNK_SIZE = 60_000;
/** How long a peer may be silent before it is sent a ping. */
export const PING_AFTER_MS = 5000;
/** How long a peer that was refused or disconnected may take to read the reason. */
export const CLOSE_WITHIN_MS = 700;
/** The most TLS handshakes under way at the same time: all of them may reach their costly step at the same moment. */
export const MAX_TLS_HANDSHAKES = 24;
/** How long a connection waits for its TLS handshake to begin before it may take the place of a handshake under way. */
export const TLS_PATIENCE_MS = 500;
/** The most publishes of one address in a minute whose start and end have log lines of their own. Further ones are counted. */
export const MAX_PUBLISHES_SHOWN_PER_MINUTE = 30;

/** The interval at which connections are checked, which is the precision of every time limit. */
export const SWEEP_MS = 100;

/** @returns the URLs without a slash at the end */
function parsePublicRtmpUrls(value: string): readonly string[] {
  return value.split(',').map((entry) => {
    const text = entry.trim();
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isOrigin = url !== undefined && /^rtmps?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?\/?$/i.test(text);
    if (!isOrigin)
      throw new Error(
        'must be rtmp:// or rtmps:// with a host and optionally a port, such as rtmps://live.example.com:443',
      );
    return `${url.protocol}//${url.host}`;
  });
}
