/**
 * How much quality do the low-delay settings cost: luma PSNR of our encoder against x264 with stock `veryfast`, at the same bitrate?
 */
import type { PsnrReport } from './peers/psnr.ts';
import { ffmpegOutput } from './support/clip.ts';
import { LADDER } from './support/ladder.ts';
import { startPeer } from './support/peer-process.ts';
import { type Answer, atMost, show } from './support/question.ts';
import { mean } from './support/statistics.ts';

const LIMIT_DB = 0.5;
const SECONDS = 10;
const FPS = 30;
/** Test sources with different kinds of motion: slow everywhere, hard edges, and random. */
const CONTENTS = ['mandelbrot', 'testsrc2', 'life'] as const;
const SOURCES: Record<(typeof CONTENTS)[number], string> = {
  mandelbrot: 'mandelbrot=size=1280x720',
  testsrc2: 'testsrc2=size=1280x720',
  life: 'life=size=320x180:mold=10:ratio=0.1:death_color=#C83232:life_color=#00ff00:seed=7,scale=1280:720:flags=bicubic',
};

/** Answers the question above. */
export async function renditionPsnrDb(): Promise<readonly Answer[]> {
  await using peer = await startPeer('psnr.ts', {});
  const rows: (PsnrReport & { readonly name: string })[] = [];
  for (const content of CONTENTS) {
    for (const profile of LADDER.profiles) {
      const { width, height } = profile;
      const rate = SOURCES[content].replace('=size', `=rate=${FPS}:size`);
      const pictures = await ffmpegOutput(
        [
          ['-f', 'lavfi', '-i', `${rate},scale=${width}:${height}:flags=bicubic,format=yuv420p`],
          ['-t', `${SECONDS}`, '-f', 'rawvideo'],
        ].flat(),
      );
      const report = (await peer.ask({ pictures, profile, framesPerSecond: FPS })) as PsnrReport;
      rows.push({ ...report, name: `${content} ${profile.name}` });
    }
  }
  const lost = rows.map(({ stock, ours }) => stock.psnrDb - ours.psnrDb);
  const lostDb = mean(lost);
  const details = rows.map(
    ({ name, ours, stock }, index) =>
      `${name} ${show(lost[index]!)} dB at ${show(ours.bitrateBps / stock.bitrateBps)}x bits`,
  );
  return [
    {
      ...atMost(
        `luma PSNR our low-delay settings lose against stock \`veryfast\` at the same bitrate, High, mean of ${rows.length}`,
        lostDb,
        LIMIT_DB,
        'dB',
      ),
      details: `worst ${show(Math.max(...lost))} dB; ${details.join('; ')}`,
    },
  ];
}
