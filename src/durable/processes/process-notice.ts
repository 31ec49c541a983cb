/** Renders the message that reports background processes to the model. */

import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'
import type { ProcessRow } from './process-rows.ts'

const maxQuotedChars = 1_500
const maxCommandChars = 200
const maxNoticeChars = 16_000

/** Renders one message for all processes. Their output is marked, because it is untrusted data. */
export function renderNotice(rows: readonly ProcessRow[], nonce: string): string {
  const head = rows.length > 1 ? `${rows.length} background processes have news.` : 'News of a background process.'
  const note = 'This was written by the system, not by the user; lines after "|" are output of programs.'
  const parts = [`[${head} ${note}]`]
  let chars = 0
  for (const row of rows) {
    const part = renderProcess(row, nonce)
    chars += part.length
    // A process is left out as a whole, so that no fence stays open.
    if (chars > maxNoticeChars) return [...parts, '[... more: process list]'].join('\n\n')
    parts.push(part)
  }
  return parts.join('\n\n')
}

function renderProcess(row: ProcessRow, nonce: string): string {
  const { id, command, watch, tail } = row
  const shown = maskSecrets(command).replaceAll('\n', ' ').slice(0, maxCommandChars)
  const parts = [`${id} (${shown}) ${describeState(row)}.`]
  if (watch.hits.length) {
    const more = watch.more ? `, and ${watch.more} more` : ''
    parts.push(`It printed watched text${more}:\n${quoteOutput(watch.hits.join('\n'), id, nonce)}`)
  }
  if (watch.off && watch.patterns.length)
    parts.push('This happens too often: the text is not watched any more, and the end of the process will be reported.')
  if (row.state.at !== 'running' && tail) parts.push(`The end of its output:\n${quoteOutput(tail, id, nonce)}`)
  return parts.join('\n')
}

function describeState({ state, startedAt }: ProcessRow): string {
  if (state.at === 'starting' || state.at === 'running') return 'is running'
  const seconds = Math.max(0, Math.round((state.endedAt - startedAt) / 1_000))
  return state.at === 'exited'
    ? `exited with code ${state.exitCode} after ${seconds} s`
    : 'is lost: its host is gone, and it is unknown how it ended'
}

function quoteOutput(text: string, source: string, nonce: string): string {
  const shown = maskSecrets(text).trimEnd().slice(-maxQuotedChars)
  const quoted = shown
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n')
  return fenceUntrusted(quoted, { source: `output of ${source}`, nonce })
}
