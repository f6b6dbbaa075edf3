/**
 * Recordings of what a transcoder makes of a whole source. A machine that is too busy does not let it have the whole: such a
 * recording says nothing, and is made again.
 */
import type { ServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Watched } from './viewer.ts';

const ATTEMPTS = 3;

/** A recording, and what the machine was too busy for meanwhile, as {@link disturbancesOf} says. */
export interface Attempt<Recording> {
  readonly recording: Recording;
  readonly disturbances: readonly string[];
}

/** Records until nothing was disturbed, or for the third time; says so each time it goes on. The last one counts as it is. */
export async function undisturbed<Recording>(record: () => Promise<Attempt<Recording>>): Promise<Recording> {
  for (let attempt = 1; ; attempt += 1) {
    const { recording, disturbances } = await record();
    if (disturbances.length === 0 || attempt === ATTEMPTS) return recording;
    console.log(`recorded again, for the machine was too busy: ${disturbances.join('; ')}`);
  }
}

/**
 * What a server says its transcoders could not do in time. They must have ended, or be ending.
 * @param options.transcoders how many there were
 * @param options.excused a time in which one was late for another reason, in milliseconds since the epoch
 * @param options.whole what was watched, where what is transcoded should have no gaps: a rendition that is late for a moment only
 *   is given some. The source waits for no transcoder.
 */
export async function disturbancesOf(
  server: ServerProcess,
  {
    transcoders,
    excused,
    whole,
  }: {
    readonly transcoders: number;
    readonly excused?: { readonly fromMs: number; readonly untilMs: number };
    readonly whole?: Watched;
  },
): Promise<readonly string[]> {
  const ended = await waitFor(
    () => {
      const found = linesOf(server).filter(({ msg }) => msg === 'transcoder ended');
      return found.length >= transcoders && found;
    },
    { what: 'the end of every transcoder' },
  );
  const isExcused = ({ time }: Line) =>
    excused !== undefined && Date.parse(time) >= excused.fromMs && Date.parse(time) <= excused.untilMs;
  const late = lateLines(server).filter((line) => !isExcused(line));
  // Of one that was lost meanwhile nobody can tell which packets went with it.
  const dropped = ended.filter(({ restarts, droppedPackets = 0 }) => restarts === 0 && droppedPackets > 0);
  const gaps = [...(whole?.renditions ?? [])].filter(
    ([uri, { reloads }]) => !uri.endsWith('/source.m3u8') && reloads.at(-1)?.text.includes('EXT-X-GAP'),
  );
  return [
    ...late.map(({ msg, lagMs = 0 }) => `${msg}, ${Math.round(lagMs)} ms behind`),
    ...dropped.map(({ droppedPackets }) => `${droppedPackets} packets were not transcoded`),
    ...gaps.map(([uri]) => `gaps in ${uri}`),
  ];
}

/** Whether a server has said by now that a transcoder could not keep up. */
export const isDisturbed = (server: ServerProcess): boolean => lateLines(server).length > 0;

const lateLines = (server: ServerProcess) => linesOf(server).filter(({ msg }) => LATE.has(msg));

const linesOf = ({ logLines }: ServerProcess) => logLines.map((line) => JSON.parse(line) as Line);

/** What is logged then. */
const LATE: ReadonlySet<string> = new Set(['rendition given up', 'transcoder skips to a keyframe']);

/** Of a log. */
interface Line {
  readonly time: string;
  readonly msg: string;
  readonly lagMs?: number;
  readonly restarts?: number;
  readonly droppedPackets?: number;
}
