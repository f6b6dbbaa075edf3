/**
 * Decides which files of a recording may be uploaded, from their names alone. A file that refers to others is uploaded after them, so that
 * whatever an index in the bucket refers to is in the bucket, too.
 */
import { WHOLE_INDEX } from '#recording/index-file.ts';

/** Which files of a recording the writer has completed. Undefined: this is not known, and nothing is uploaded. */
export type WriterState =
  /** The recording has ended. No file changes any more. */
  | 'ended'
  /** The files of these periods do not change any more. */
  | { readonly closed: ReadonlySet<number> }
  | undefined;

const PERIOD = /^(?:(?:index|pictures)\.(\d{1,9})|.+\.(\d{1,9})\.mp4)$/;
const MANIFEST = 'manifest.json';

/** The number of the period that a volume, an index file or a file of pictures belongs to. Undefined for other files. */
export function periodOf(name: string): number | undefined {
  const [, ofFile, ofVolume] = PERIOD.exec(name) ?? [];
  const period = ofFile ?? ofVolume;
  return period === undefined ? undefined : Number(period);
}

const isIndexFile = (name: string): boolean => name.startsWith(`${WHOLE_INDEX}.`) && !name.endsWith('.mp4');

/**
 * The files that may be uploaded now, in the best order. They may also be uploaded at the same time.
 * @param names all files of the recording's folder
 * @param isStored whether the bucket has a file
 */
export function uploadable(
  names: readonly string[],
  writer: WriterState,
  isStored: (name: string) => boolean,
): readonly string[] {
  const final = names.filter((name) => isFinal(name, writer));
  const waiting = final.filter((name) => !isStored(name)).sort(byPeriod);
  // Without the manifest, the wall-clock time of the media would not be known.
  const isNamed = waiting.includes(MANIFEST);
  const ofVolumes = new Set(waiting.filter((name) => !isIndexFile(name)).map(periodOf));
  return waiting.filter((name) => {
    if (name === WHOLE_INDEX) return waiting.length === 1;
    return !isIndexFile(name) || !(isNamed || ofVolumes.has(periodOf(name)));
  });
}

/** Whether a recording has ended and all its files are in the bucket. @param names all files of the recording's folder */
export function isComplete(names: readonly string[], isStored: (name: string) => boolean): boolean {
  return names.includes(WHOLE_INDEX) && names.filter((name) => isFinal(name, 'ended')).every(isStored);
}

/** Whether a file belongs to the recording and will not change any more. */
function isFinal(name: string, writer: WriterState): boolean {
  // A file with such a name is still being written, and will be renamed.
  if (writer === undefined || name.startsWith('.') || name.endsWith('.new')) return false;
  // The index of the whole recording replaces those of the periods.
  if (writer === 'ended') return !isIndexFile(name);
  if (name === MANIFEST) return true;
  const period = periodOf(name);
  return period !== undefined && writer.closed.has(period);
}

function byPeriod(one: string, other: string): number {
  const rank = (name: string) => (isIndexFile(name) || name === WHOLE_INDEX ? 1 : 0);
  const [ofOne = -1, ofOther = -1] = [periodOf(one), periodOf(other)];
  return ofOne - ofOther || rank(one) - rank(other) || (one < other ? -1 : 1);
}
