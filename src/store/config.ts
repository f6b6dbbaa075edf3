/**
 * Settings of the store.
 */
import { type SettingValues, text } from '#lib/setting.ts';

/** What an operator may set. */
export const storeSettings = {
  dataDir: text('DATA_DIR', 'data', 'Folder for what must last; made when missing, used by one server at a time'),
};

/** Their values. */
export type StoreSettings = SettingValues<typeof storeSettings>;
