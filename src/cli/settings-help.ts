/**
 * Lists every setting for `millrace serve --help`, from the definitions of the settings.
 */
import { PREFIX, SETTINGS } from '#config.ts';
import type { Setting } from '#lib/setting.ts';

const WIDTH = 100;
const INDENT = ' '.repeat(6);

/** All settings by stage: name, default and meaning. */
export function settingsHelp(): string {
  return Object.entries(SETTINGS)
    .map(([stage, settings]) => `${stage}\n${Object.values<Setting<unknown>>(settings).map(settingHelp).join('\n')}`)
    .join('\n\n');
}

function settingHelp({ name, fallback, help }: Setting<unknown>): string {
  const value = fallback === undefined ? ' (not set)' : fallback === '' ? ' (empty)' : `=${fallback}`;
  return `  ${PREFIX}${name}${value}\n${wrap(`${help}.`)}`;
}

function wrap(text: string): string {
  const lines: string[] = [];
  let line = INDENT;
  for (const word of text.split(' ')) {
    if (line.length + word.length > WIDTH && line !== INDENT) {
      lines.push(line.trimEnd());
      line = INDENT;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join('\n');
}
