import { partOf, runFiles } from '#test/support/shared-process.ts';
import { UNIT_TESTS } from './unit-tests.ts';

runFiles(partOf(UNIT_TESTS, 1, 2));
