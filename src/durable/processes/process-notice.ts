/** Renders the message that reports background processes to the model. */

import { maskSecrets } from '../../agent/model/mask-secrets.ts'
import type { ProcessRow } from './process-rows.ts'

const maxQuotedChars = 1_500
const maxCommandChars = 200
const maxNoticeChars = 16_000

/** Renders one message for all processes. Their output is marked, because it is untrusted data. */
export function renderNotice(rows: readonly ProcessRow[]): string {
  const head = rows.length > 1 ? `${rows.length} background processes have news.` : 'News of a background process.'
  const note = 'This was written by the system, not by the user; lines after "|" are output of programs.'
  const text = [`[${head} ${note}]`, ...rows.map(renderProcess)].join('\n\n')
  return text.length > maxNoticeChars ? `${text.slice(0, maxNoticeChars)}\n[... more: process list]` : text
}

function renderProcess(row: ProcessRow): string {
  const { id, command, watch, tail } = row
  const shown = maskSecrets(command).replaceAll('\n', ' ').slice(0, maxCommandChars)
  const parts = [`${id} (${shown}) ${describeState(row)}.`]
  if (watch.hits.length) {
    const more = watch.more ? `, and ${watch.more} more` : ''
    parts.push(`It printed watched text${more}:\n${quoteOutput(watch.hits.join('\n'))}`)
  }
  if (watch.off && watch.patterns.length)
    parts.push('This happens too often: the text is not watched any more, and the end of the process will be reported.')
  if (row.state.at !== 'running' && tail) parts.push(`The end of its output:\n${quoteOutput(tail)}`)
  return parts.join('\n')
}

function describeState({ state, startedAt }: ProcessRow): string {
  if (state.at === 'starting' || state.at === 'running') return 'is running'
  const seconds = Math.max(0, Math.round((state.endedAt - startedAt) / 1_000))
  return state.at === 'exited'
    ? `exited with code ${state.exitCode} after ${seconds} s`
    : 'is lost: its host is gone, and it is unknown how it ended'
}

const quoteOutput = (text: string): string =>
  maskSecrets(text)
    .trimEnd()
    .slice(-maxQuotedChars)
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n')
