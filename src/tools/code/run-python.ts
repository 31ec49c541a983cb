/** Runs a Python program on the host of the session, as a command on a temporary file. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { ProgramEnd } from '#agent/core/program.ts'
import { maxKeptBytes } from '../kept-output.ts'

const maxErrorChars = 10_000

export type Script = {
  readonly source: string
  readonly callId: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onOutput?: ((text: string) => void) | undefined
}

export async function runPython(backend: ExecutionBackend, script: Script): Promise<ProgramEnd> {
  if (!backend.capabilities.languages.includes('python'))
    return {
      status: 'error',
      output: '',
      error: `There is no Python on the ${backend.kind} backend. Write it in JavaScript, or ask the user for a backend with Python.`,
    }
  const { source, callId, timeoutMs, signal, onOutput } = script
  const file = `/tmp/programs/${callId.replace(/[^\w-]/g, '_').slice(0, 64)}.py`
  await backend.files.write(file, new TextEncoder().encode(source))
  try {
    const show = onOutput && { onOutput: (_: string, text: string) => onOutput(text) }
    const options = { cwd: backend.capabilities.root, timeoutMs, signal, maxOutput: maxKeptBytes, ...show }
    const { exitCode, stdout, stderr, timedOut, omitted } = await backend.exec(`python3 ${file}`, options)
    if (timedOut) return { status: 'timeout', output: stdout, omitted, error: `Stopped after ${timeoutMs / 1000} s.` }
    if (signal.aborted) return { status: 'interrupted', output: stdout, omitted, error: 'Stopped by the user.' }
    const status = exitCode === 0 ? 'success' : 'error'
    const error = describeError(exitCode, stderr)
    return { status, output: stdout, omitted, ...(error && { error }) }
  } finally {
    await backend.files.remove(file)
  }
}

/** Exit code 1 with a traceback says nothing more. Every other code may be one that the program chose. */
function describeError(exitCode: number | null, stderr: string): string {
  const text = stderr.slice(-maxErrorChars)
  const hasCode = exitCode !== 0 && (exitCode !== 1 || text === '')
  return [text.trimEnd(), hasCode && `The program ended with exit code ${exitCode}.`].filter(Boolean).join('\n')
}
