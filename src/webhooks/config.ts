/**
 * Settings of webhooks.
 */
import { choice, type SettingValues } from '#lib/setting.ts';

/** What an operator may set. */
export const webhookSettings = {
  allowPrivate: choice(
    'WEBHOOKS_ALLOW_PRIVATE',
    '0',
    'Whether webhooks may lead to private and local addresses: 1 only where nobody but you can create webhooks',
    ['0', '1'],
  ),
} as const;

/** Their values. */
export type WebhookSettings = SettingValues<typeof webhookSettings>;
