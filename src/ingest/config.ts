/**
 * Settings of all ingest protocols.
 */
import type { SettingValues } from '#lib/setting.ts';
import { rtmpSettings } from './rtmp/config.ts';

/** The settings of every ingest protocol. */
export const ingestSettings = { ...rtmpSettings };

/** The values of the settings. */
export type IngestSettings = SettingValues<typeof ingestSettings>;
