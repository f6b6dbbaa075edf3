/**
 * The actions of the audit log in words.
 */

const NOUNS: Readonly<Record<string, string>> = {
  api_key: 'API key',
  signing_key: 'signing key',
  browser_session: 'browser session',
  sign_in_link: 'sign-in link',
};

/** An action such as `api_key.created` as words: "API key created". */
export function actionWords(action: string): string {
  const [noun = '', verb = ''] = action.split('.');
  const words = `${NOUNS[noun] ?? noun.replaceAll('_', ' ')} ${verb.replaceAll('_', ' ')}`;
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
