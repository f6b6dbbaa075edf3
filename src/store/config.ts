/**
 * Settings of the store.
 */
import { type SettingValues, text } from '#lib/setting.ts';

/** What an operator may set. */
export const storeSettings = {
  dataDir: text('DATA_DIR', './data', 'Folder that holds the database; made when missing'),
};

/** Their values. */
export type StoreSettings = SettingValues<typeof storeSettings>;
