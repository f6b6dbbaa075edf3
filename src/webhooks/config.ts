/**
 * Settings of webhooks.
 */
import { choice, type SettingValues } from '#lib/setting.ts';

/** The settings of webhooks that an operator may change. */
export const webhookSettings = {
  allowPrivate: choice(
    'WEBHOOKS_ALLOW_PRIVATE',
    '0',
    'Whether webhooks may be sent to private and local addresses. Set 1 only if you trust everybody who can create webhooks',
    ['0', '1'],
  ),
} as const;

/** The values of the settings. */
export type WebhookSettings = SettingValues<typeof webhookSettings>;
