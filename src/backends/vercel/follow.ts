/** A command at Vercel, as lines of JSON: what it prints, and the command itself, at the end with its code. */

import { BackendError } from '../../agent/model/backend.ts'
import type { ScriptResult } from '../host/host-port.ts'

type Line = {
  readonly stream?: string
  readonly data?: string | { readonly message?: string }
  readonly command?: { readonly exitCode?: number | null }
}

/** Without a code nobody knows how it ended, whatever came before. */
export async function readCommandLog(response: Response): Promise<ScriptResult> {
  try {
    return ranOf((await response.text()).split('\n').filter((line) => line.trim() !== ''))
  } catch (error) {
    throw new BackendError(
      'unavailable',
      `${error instanceof Error ? error.message : String(error)} It is unknown whether the command ran, and how far.`,
      'Look at what it was to change before running it again.',
    )
  }
}

function ranOf(lines: readonly string[]): ScriptResult {
  let [output, code]: [string, number | null] = ['', null]
  for (const text of lines) {
    const { stream, data, command } = JSON.parse(text) as Line
    if (stream === 'error') throw new Error((typeof data === 'object' && data.message) || 'The stream broke off.')
    if (stream === 'stdout' && typeof data === 'string') output += data
    code = command?.exitCode ?? code
  }
  return { code, output }
}
