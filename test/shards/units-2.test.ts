import { filesOf, partOf, runFiles } from '#test/support/shared-process.ts';
import { UNIT_TESTS, WAITING_UNITS } from './lists.ts';

runFiles(partOf(filesOf(UNIT_TESTS, WAITING_UNITS), 2, 2));
