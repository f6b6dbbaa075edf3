import { filesOf, runFiles } from '#test/support/shared-process.ts';
import { WAITING_UNITS } from './lists.ts';

runFiles(filesOf(WAITING_UNITS));
