/**
 * Numbers and times as people read them. Pure: the time now is an argument.
 */

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;

/** Bits per second: `2.4 Mbit/s`. */
export function bitrate(bitsPerSecond: number | undefined): string {
  if (bitsPerSecond === undefined) return '–';
  if (bitsPerSecond >= 999_500) return `${trimmed(bitsPerSecond / 1e6)} Mbit/s`;
  return `${Math.round(bitsPerSecond / 1000)} kbit/s`;
}

/** Bytes: `1.3 GB`. */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = count;
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit += 1) value /= 1000;
  return `${unit === 0 ? value : trimmed(value)} ${units[unit]}`;
}

/** A length of time: `4 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < MINUTE_S) return `${whole} s`;
  if (whole < HOUR_S) return joined(Math.floor(whole / MINUTE_S), 'min', whole % MINUTE_S, 's');
  if (whole < DAY_S) return joined(Math.floor(whole / HOUR_S), 'h', Math.floor((whole % HOUR_S) / MINUTE_S), 'min');
  return joined(Math.floor(whole / DAY_S), 'd', Math.floor((whole % DAY_S) / HOUR_S), 'h');
}

/** A clock that runs: `0:07`, `12:34`, `1:02:03`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [h, m, s] = [Math.floor(whole / HOUR_S), Math.floor((whole % HOUR_S) / MINUTE_S), whole % MINUTE_S];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** How long ago: `just now`, `12 s ago`, `3 min ago`, then a date. @param at milliseconds; 0 means never */
export function ago(at: number, now: number): string {
  if (at === 0) return 'never';
  const seconds = (now - at) / 1000;
  if (seconds < 5) return 'just now';
  if (seconds < MINUTE_S) return `${Math.floor(seconds)} s ago`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min ago`;
  if (seconds < DAY_S) return `${Math.floor(seconds / HOUR_S)} h ago`;
  if (seconds < 7 * DAY_S) return `${Math.floor(seconds / DAY_S)} d ago`;
  return date(at);
}

/** A day: `24 Nov 2026`. @param timeZone that of the reader unless another is named */
export function date(at: number, timeZone?: string): string {
  return new Date(at).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    ...(timeZone !== undefined && { timeZone }),
  });
}

/** A day and the time: `24 Nov 2026, 14:05:09`. */
export function dateTime(at: number): string {
  return `${date(at)}, ${time(at)}`;
}

/** The time of a day: `14:05:09`. */
export function time(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB');
}

/** `1 stream`, `2 streams`, `12,000 streams`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en-GB')} ${number === 1 ? one : many}`;
}

/** A text that the API gives without a capital and a full stop, as a sentence. */
export function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`.replace(/\.\.$/, '.');
}

/** The name of a codec that people know, for its RFC 6381 name. */
export function codecName(codec: string): string {
  if (/^avc[13]/.test(codec)) return 'H.264';
  if (/^h(vc|ev)1/.test(codec)) return 'HEVC';
  if (codec.startsWith('av01')) return 'AV1';
  if (codec.startsWith('mp4a')) return 'AAC';
  return codec.toLowerCase() === 'opus' ? 'Opus' : codec;
}

/** Three significant digits, without zeros at the end. */
function trimmed(value: number): string {
  return String(Number(value.toPrecision(value >= 100 ? 3 : 2)));
}

const two = (value: number): string => String(value).padStart(2, '0');
const joined = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
