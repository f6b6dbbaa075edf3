import { filesOf, runFiles } from '#test/support/shared-process.ts';
import { WAITING } from './lists.ts';

runFiles(filesOf(WAITING));
