/** Decides what of a run is delivered: silence is not, a failure always is. */

import type { Marks } from '#agent/core/marks.ts'
import type { EndedStatus } from './job.ts'

const silentWords = new Set(['[silent]', 'silent', 'no_reply', '[no_reply]'])

/** Whether the whole answer, its first line or its last line is the word for silence. */
export function isSilent(answer: string): boolean {
  const lines = answer
    .trim()
    .split('\n')
    .map((line) => line.trim().toLowerCase())
  return silentWords.has(lines[0] ?? '') || silentWords.has(lines.at(-1) ?? '')
}

export type RunResult = {
  readonly status: EndedStatus
  readonly output?: string
  readonly error?: string
  /** Of the output. */
  readonly marks?: Marks
}

export type AnswerContext = {
  readonly name: string
  /** The output is that of the script, which is delivered as it is. */
  readonly isVerbatim: boolean
  /** Failures in a row, with this one. */
  readonly failureStreak: number
}

const nudgeAfter = 3

/** The text to deliver; undefined when there is none. */
export function renderDelivery(result: RunResult, context: AnswerContext): string | undefined {
  const { status, output = '', error = 'no reason is known' } = result
  const { name, isVerbatim } = context
  switch (status) {
    case 'completed':
      return isVerbatim ? renderVerbatim(output) : renderAnswer(output, name)
    case 'failed':
      return renderFailure(output, error, context)
    case 'unknown':
      return `Job "${name}" was interrupted, and its result is unknown: ${error}`
    case 'missed':
    case 'skipped_late':
      return `Job "${name}" did not run: ${error}`
    case 'skipped':
      return undefined
  }
}

const renderVerbatim = (output: string): string | undefined => (output.trim() === '' ? undefined : output)
const renderAnswer = (output: string, name: string): string | undefined =>
  isSilent(output) ? undefined : `Job "${name}":\n\n${output}`

function renderFailure(output: string, error: string, { name, failureStreak }: AnswerContext): string {
  const hasOutput = output.trim() !== '' && !isSilent(output)
  return [
    `Job "${name}" failed: ${error}`,
    ...(hasOutput ? [output] : []),
    ...(failureStreak === nudgeAfter
      ? [`It has failed ${nudgeAfter} times in a row. Change it, or pause it until it can work.`]
      : []),
  ].join('\n\n')
}
