import { filesOf, partOf, runFiles } from '#test/support/shared-process.ts';
import { UNIT_TESTS } from './lists.ts';

runFiles(partOf(filesOf(UNIT_TESTS), 1, 2));
