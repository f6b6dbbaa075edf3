/**
 * Finds the regular expressions of a source file, and checks how their time grows with the length of their input.
 */
import { type CallExpression, type NewExpression, parseSync, type Span, Visitor } from 'oxc-parser';
import { checkSync } from 'recheck';

/** Judging one takes less than a second of CPU time, which a busy machine may not give for long. The package's own limit is ten seconds. */
const JUDGING_LIMIT_MS = 300_000;

/** A regular expression in the source. */
export interface Expression {
  /** `src/folder/file.ts:line`, as editors and terminals link it. */
  readonly at: string;
  /** The expression as it stands in the source. */
  readonly text: string;
  /** Its pattern. Undefined when it is built from anything except literals. */
  readonly pattern: string | undefined;
  readonly flags: string;
}

/** Every regular expression literal of a file, and every call of `RegExp`. */
export function expressionsIn(path: string, source: string): readonly Expression[] {
  const found: Expression[] = [];
  const add = ({ start, end }: Span, pattern: string | undefined, flags: string) => {
    const line = source.slice(0, start).split('\n').length;
    found.push({ at: `${path}:${line}`, text: source.slice(start, end), pattern, flags });
  };
  const addCall = (call: NewExpression | CallExpression) => {
    if (call.callee.type !== 'Identifier' || call.callee.name !== 'RegExp') return;
    const [pattern, flags = ''] = call.arguments.map((each) => (each.type === 'Literal' ? each.value : undefined));
    if (typeof pattern === 'string' && typeof flags === 'string') add(call, pattern, flags);
    else add(call, undefined, '');
  };
  new Visitor({
    Literal: (node) => {
      if ('regex' in node) add(node, node.regex.pattern, node.regex.flags);
    },
    NewExpression: addCall,
    CallExpression: addCall,
  }).visit(parseSync(path, source).program);
  return found;
}

/** Explains why an expression is not proven to take time in proportion to the length of its input. Undefined when it is. */
export function slowness(pattern: string, flags: string): string | undefined {
  // Only the automaton proves something. The package's other checker tries many inputs, which proves nothing.
  const verdict = checkSync(pattern, flags, { checker: 'automaton', timeout: JUDGING_LIMIT_MS });
  switch (verdict.status) {
    case 'safe':
      return undefined;
    case 'vulnerable':
      return verdict.complexity.summary;
    case 'unknown':
      return `not judged: ${verdict.error.kind}`;
  }
}
