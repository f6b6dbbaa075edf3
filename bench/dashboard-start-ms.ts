/**
 * Does the dashboard delay the start of the service? At a terminal, the server bundles it as soon as it listens; elsewhere, it does so when the
 * dashboard is first opened.
 */
import { timeStart } from './support/npm-start.ts';
import { type Answer, atMostTimes } from './support/question.ts';
import { inRounds } from './support/statistics.ts';

const ROUNDS = 9;
/** Both run in a terminal, that of script(1), which gives an answer only for what is started in it. */
const COMMANDS = { attended: 'npm start', unattended: 'npm start > /dev/null' } as const;

/** Answers the question above. */
export async function dashboardStartMs(): Promise<readonly Answer[]> {
  const { attended, unattended } = await inRounds(ROUNDS, {
    attended: () => timeIn(COMMANDS.attended),
    unattended: () => timeIn(COMMANDS.unattended),
  });
  return [
    atMostTimes(
      '`npm start` at a terminal, which bundles the dashboard -> `/healthz` 200',
      attended,
      { name: 'elsewhere, which bundles nothing', value: unattended },
      { times: 1.1, unit: 'ms' },
    ),
  ];
}

const timeIn = (command: string): Promise<number> => timeStart('script', '-qec', command, '/dev/null');
