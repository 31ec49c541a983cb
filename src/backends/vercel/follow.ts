/** Reads the log of a command at Vercel: lines of JSON with its output, and at the end its exit code. */

import { BackendError } from '#agent/core/backend.ts'
import type { ScriptResult } from '../host/host-port.ts'

type LogLine = {
  readonly stream?: string
  readonly data?: string | { readonly message?: string }
  readonly command?: { readonly exitCode?: number | null }
}

export async function readCommandLog(response: Response): Promise<ScriptResult> {
  try {
    return parseLines((await response.text()).split('\n').filter((line) => line.trim() !== ''))
  } catch (error) {
    throw new BackendError(
      'unavailable',
      `${error instanceof Error ? error.message : String(error)} It is unknown whether the command ran, and how far.`,
      'Look at the files it should change before you run it again.',
    )
  }
}

function parseLines(lines: readonly string[]): ScriptResult {
  let [output, code]: [string, number | null] = ['', null]
  for (const text of lines) {
    const { stream, data, command } = JSON.parse(text) as LogLine
    if (stream === 'error') throw new Error((typeof data === 'object' && data.message) || 'The stream broke off.')
    if (stream === 'stdout' && typeof data === 'string') output += data
    code = command?.exitCode ?? code
  }
  return { code, output }
}
