/**
 * Finds the names that a source file declares and exports.
 */
import { type Declaration, parseSync } from 'oxc-parser';

/** The names, types included. Names that are exported again from another file are left out: their meaning is that of the other file. */
export function exportedNames(path: string, source: string): readonly string[] {
  const { program } = parseSync(path, source);
  return program.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return [];
    if (statement.declaration !== null) return declaredNames(statement.declaration);
    if (statement.source !== null) return [];
    return statement.specifiers.flatMap(({ exported }) => (exported.type === 'Identifier' ? [exported.name] : []));
  });
}

function declaredNames(declaration: Declaration): readonly string[] {
  if (declaration.type === 'VariableDeclaration') {
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  }
  return 'id' in declaration && declaration.id?.type === 'Identifier' ? [declaration.id.name] : [];
}
