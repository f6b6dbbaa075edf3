/**
 * The rules of API keys in words, and the rules that are offered.
 */
import type { Rule } from '../../shared/rights.ts';

/** A choice of rules. */
export interface Preset {
  readonly id: string;
  readonly name: string;
  readonly meaning: string;
  /** Undefined allows everything that the user may do. */
  readonly rules: readonly Rule[] | undefined;
}

/** The rules that are offered. Others can be set through the API. */
export const PRESETS: readonly Preset[] = [
  { id: 'all', name: 'Everything', meaning: 'All that you may do. For your own programs.', rules: undefined },
  {
    id: 'read',
    name: 'Read only',
    meaning: 'Sees everything but stream keys, and changes nothing. For monitoring.',
    rules: [{ resources: ['*'], methods: ['get'] }],
  },
  {
    id: 'streams',
    name: 'Create and watch streams',
    meaning: 'Creates streams, sees their keys, and reads their state. For a server that makes streams for its users.',
    rules: [
      {
        resources: ['stream', 'stream/:id', 'stream/:id/*', 'session', 'session/:id'],
        methods: ['get', 'post', 'publish'],
      },
    ],
  },
];

/** Describes in one sentence what rules allow. */
export function ruleWords(rules: readonly Rule[] | undefined): string {
  if (rules === undefined) return 'Everything';
  const preset = PRESETS.find((each) => JSON.stringify(each.rules) === JSON.stringify(rules));
  if (preset !== undefined) return preset.name;
  if (rules.length === 0) return 'Nothing';
  return rules
    .map(
      ({ resources, methods = ['*'] }) =>
        `${methods.includes('*') ? 'anything' : methods.join(', ')} on ${resources.join(', ')}`,
    )
    .join('; ');
}
