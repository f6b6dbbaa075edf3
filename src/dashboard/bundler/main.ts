/**
 * The process that bundles the dashboard: sends the files to its parent, and ends.
 */
import { setPriority } from 'node:os';
import { bundleFiles } from './bundle-files.ts';

/** Live media goes first. What this process starts inherits it. */
const NICENESS = 15;

setPriority(NICENESS);
const files = await bundleFiles();
process.send!([...files], () => process.disconnect!());
