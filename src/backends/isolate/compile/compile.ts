/** Compiles a program of the model to a module that can be stopped. Types are only removed when it does not parse as JavaScript. */

import { transform } from 'sucrase'
import type { Compiled, CompiledLanguage } from '../protocol.ts'
import { instrument, UnsupportedSyntax } from './instrument.ts'
import { importableModules } from './importable-modules.ts'

export const compile = (source: string, language?: CompiledLanguage): Compiled =>
  compileWith(source, (script) => instrument(script, importableModules), language)

/** `transformScript` gets JavaScript: the source itself, or the source without its types. */
export function compileWith(
  source: string,
  transformScript: (script: string) => string,
  language?: CompiledLanguage,
): Compiled {
  if (language !== 'typescript') {
    const plain = attempt(source, transformScript)
    if (plain.ok || plain.isFinal) return plain
  }
  let script: string
  try {
    // These options only remove types, so that line numbers stay the same.
    script = transform(source, { transforms: ['typescript'], disableESTransforms: true, keepUnusedImports: true }).code
  } catch (error) {
    return { ok: false, error: syntaxError(error) }
  }
  return attempt(script, transformScript)
}

type CompileAttempt = Compiled & { readonly isFinal?: boolean }

function attempt(source: string, transformScript: (script: string) => string): CompileAttempt {
  try {
    return { ok: true, code: transformScript(source) }
  } catch (error) {
    if (error instanceof UnsupportedSyntax) return { ok: false, error: error.message, isFinal: true }
    if (error instanceof SyntaxError) return { ok: false, error: syntaxError(error) }
    if (error instanceof RangeError) return { ok: false, error: 'The code is nested too deeply.', isFinal: true }
    throw error
  }
}

/** Formats an error of acorn or sucrase. Both end with `(line:column)`; sucrase has a prefix. */
function syntaxError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const [place = '', line = '?', column = '?'] = /\((\d+):(\d+)\)$/.exec(message) ?? []
  const text = message.slice(0, message.length - place.length).trimEnd()
  return `SyntaxError: ${text.replace(/^Error transforming [^:]*: /, '')} (line ${line}, column ${column})`
}
