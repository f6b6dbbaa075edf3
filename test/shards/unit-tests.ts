/** The files of `npm run test:unit`, below the repository. */
export const UNIT_TESTS = [
  'src/**/*.test.ts',
  'test/{api,fuzz,hls,media,recording,rules,support}/*.test.ts',
  'bench/**/*.test.ts',
  'web/**/*.test.ts',
];
