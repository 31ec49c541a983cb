/** Compiles the module of a plugin to one that can be stopped. It returns the module's exports `tools` and `hooks`. */

import { type Node, parse } from 'acorn'
import type { Compiled } from '../protocol.ts'
import { compileWith } from './compile.ts'
import { instrument, UnsupportedSyntax } from './instrument.ts'

type Syntax = Node & { readonly [field: string]: unknown }

const exportable: ReadonlySet<string> = new Set(['tools', 'hooks'])

export const compilePlugin = (source: string): Compiled =>
  compileWith(source, (script) => instrument(withExportsAsValue(script), new Set()))

/** Returns a script whose last expression is an object with the exports. Lines stay where they are. */
function withExportsAsValue(source: string): string {
  const ast = parse(source, { ecmaVersion: 'latest', sourceType: 'module', locations: true }) as unknown as Syntax
  const exported = new Map<string, string>()
  let script = source
  for (const statement of ast['body'] as readonly Syntax[]) {
    if (statement.type === 'ImportDeclaration') throw unsupported(statement, 'A plugin imports nothing')
    if (!statement.type.startsWith('Export')) continue
    for (const [name, local] of listExports(statement)) {
      if (!exportable.has(name)) throw unsupported(statement, `A plugin exports only tools and hooks, not ${name}`)
      exported.set(name, local)
    }
    // Declarations stay: the word `export` before them is removed with the other module syntax.
    if (!statement['declaration'])
      script = script.slice(0, statement.start) + blank(script, statement) + script.slice(statement.end)
  }
  const fields = [...exported].map(([name, local]) => `${name}: ${local}`)
  return `${script}\n;({ ${fields.join(', ')} })`
}

const blank = (source: string, { start, end }: Syntax): string => source.slice(start, end).replace(/[^\n]/g, ' ')

function listExports(statement: Syntax): readonly (readonly [string, string])[] {
  if (statement.type !== 'ExportNamedDeclaration' || statement['source'])
    throw unsupported(statement, 'Write `export const tools = …` and `export const hooks = …`')
  const declared = statement['declaration'] as Syntax | null
  if (!declared)
    return (statement['specifiers'] as readonly Syntax[]).map(({ exported, local }) => [
      nameOf(exported),
      nameOf(local),
    ])
  const { declarations = [declared] } = declared as Syntax & { readonly declarations?: readonly Syntax[] }
  return declarations.map(({ id }) => [nameOf(id), nameOf(id)])
}

/** Patterns have no name, so nothing that may be exported. */
const nameOf = (identifier: unknown): string => {
  const { name, value } = (identifier ?? {}) as { readonly name?: string; readonly value?: string }
  return name ?? value ?? 'a pattern'
}

const unsupported = (node: Syntax, message: string): UnsupportedSyntax => {
  const { loc } = node as unknown as { readonly loc: { readonly start: { readonly line: number } } }
  return new UnsupportedSyntax(`${message} (line ${loc.start.line}).`)
}
