/**
 * Which test files share a process. End-to-end tests have three processes. Each runs its files one after the other, so no more than three
 * files run at a time.
 */

/** The files of `npm run test:unit`, relative to the repository. */
export const UNIT_TESTS = [
  'src/**/*.test.ts',
  'test/{api,fuzz,hls,media,recording,rules,support}/*.test.ts',
  'bench/**/*.test.ts',
  'web/**/*.test.ts',
];

/** The unit tests that mostly wait for a database or for processes, and therefore have a process of their own beside the others. */
export const WAITING_UNITS = ['src/store/engines/postgres.test.ts', 'src/transcode/process-transcoder.test.ts'];

/** The files of `npm run test:e2e`. */
export const END_TO_END_TESTS = ['test/{cli,e2e,ingest}/*.test.ts'];

/** The end-to-end tests that mostly wait: for programs to start, and for databases and nodes that do not answer. */
export const WAITING = ['test/cli/*.test.ts', 'test/e2e/{cluster,events}*.test.ts'];

/** The end-to-end tests that mostly work with a browser. */
export const IN_BROWSERS = [
  'test/e2e/{browser,caches,dashboard,movies,pages,playback-rights,player,recordings-viewers,tls}*.test.ts',
];
