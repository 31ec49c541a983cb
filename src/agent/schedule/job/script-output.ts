/** Decides what the output of a script means for its run. */

export type ScriptEnd = {
  /** Null when it was killed. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  readonly hasTimedOut: boolean
}

export type ScriptVerdict =
  | { readonly kind: 'output'; readonly text: string }
  | { readonly kind: 'skip'; readonly why: string }
  | { readonly kind: 'failed'; readonly error: string }

const maxErrorChars = 2_000

export function judgeScript({ exitCode, stdout, stderr, hasTimedOut }: ScriptEnd): ScriptVerdict {
  if (hasTimedOut) return { kind: 'failed', error: withDetail('The script reached its time limit', stderr || stdout) }
  if (exitCode !== 0)
    return {
      kind: 'failed',
      error: withDetail(`The script ended with exit code ${exitCode ?? 'none'}`, stderr || stdout),
    }
  if (stdout.trim() === '') return { kind: 'skip', why: 'The script printed nothing.' }
  if (!wakesAgent(stdout)) return { kind: 'skip', why: 'The script printed {"wakeAgent": false}.' }
  return { kind: 'output', text: stdout }
}

const withDetail = (text: string, detail: string): string => {
  const shown = detail.trim().slice(-maxErrorChars)
  return shown ? `${text}: ${shown}` : `${text}.`
}

/** Whether the last line is not the JSON object that keeps the agent asleep. */
function wakesAgent(stdout: string): boolean {
  const last = stdout.trimEnd().split('\n').at(-1)?.trim() ?? ''
  if (!last.startsWith('{') || last.length > 10_000) return true
  try {
    const value = JSON.parse(last) as { readonly wakeAgent?: unknown }
    return value.wakeAgent !== false
  } catch {
    // Any other text that begins with a brace is output.
    return true
  }
}
