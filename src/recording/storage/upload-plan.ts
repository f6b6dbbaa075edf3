/**
 * Decides which files of a recording may be uploaded, from their names alone: a file that names others comes after them, so that what can be
 * found in the bucket can also be read there.
 */
import { WHOLE_INDEX } from '#recording/index-file.ts';

/** How far the writer is. Undefined: it is not known, and nothing is uploaded. */
export type WriterState =
  /** The recording has ended. No file changes any more. */
  | 'ended'
  /** The files of these periods do not change any more. */
  | { readonly closed: ReadonlySet<number> }
  | undefined;

const PERIOD = /^(?:(?:index|pictures)\.(\d{1,9})|.+\.(\d{1,9})\.mp4)$/;
const MANIFEST = 'manifest.json';

/** The period that a volume, an index file or a file of pictures belongs to. */
export function periodOf(name: string): number | undefined {
  const [, ofFile, ofVolume] = PERIOD.exec(name) ?? [];
  const period = ofFile ?? ofVolume;
  return period === undefined ? undefined : Number(period);
}

const isIndexFile = (name: string): boolean => name.startsWith(`${WHOLE_INDEX}.`) && !name.endsWith('.mp4');

/**
 * The files that are to be uploaded now, in this order, at the same time if one likes.
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
  // Without the manifest, nobody could tell the time of what an index names.
  const isNamed = waiting.includes(MANIFEST);
  const ofVolumes = new Set(waiting.filter((name) => !isIndexFile(name)).map(periodOf));
  return waiting.filter((name) => {
    if (name === WHOLE_INDEX) return waiting.length === 1;
    return !isIndexFile(name) || !(isNamed || ofVolumes.has(periodOf(name)));
  });
}

/** Whether everything of a recording that has ended is in the bucket. */
export function isComplete(names: readonly string[], isStored: (name: string) => boolean): boolean {
  return names.includes(WHOLE_INDEX) && names.filter((name) => isFinal(name, 'ended')).every(isStored);
}

/** Whether a file will never change, and belongs to the recording. */
function isFinal(name: string, writer: WriterState): boolean {
  // Being written, to be renamed.
  if (writer === undefined || name.startsWith('.') || name.endsWith('.new')) return false;
  // The whole index replaces those of the periods.
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
