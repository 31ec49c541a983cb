/** The words in which a session hears of its background processes. */

import { maskSecrets } from '../../agent/model/secrets.ts'
import type { ProcessRow } from './process-rows.ts'

const maxQuotedChars = 1_500
const maxCommandChars = 200
const maxNoticeChars = 16_000

/** One message for all of them. What they printed is marked as such: it is data, whoever wrote it. */
export function renderNotice(rows: readonly ProcessRow[]): string {
  const head = rows.length > 1 ? `${rows.length} background processes have news.` : 'News of a background process.'
  const note = 'This was written by the system, not by the user; lines after "|" are output of programs.'
  const text = [`[${head} ${note}]`, ...rows.map(about)].join('\n\n')
  return text.length > maxNoticeChars ? `${text.slice(0, maxNoticeChars)}\n[... more: process list]` : text
}

function about(row: ProcessRow): string {
  const { id, command, watch, tail } = row
  const shown = maskSecrets(command).replaceAll('\n', ' ').slice(0, maxCommandChars)
  const parts = [`${id} (${shown}) ${standing(row)}.`]
  if (watch.hits.length) {
    const more = watch.more ? `, and ${watch.more} more` : ''
    parts.push(`It printed what is watched for${more}:\n${quoted(watch.hits.join('\n'))}`)
  }
  if (watch.off && watch.patterns.length)
    parts.push('That comes too often: it is not watched for any more, and its end will be told.')
  if (row.state.at !== 'running' && tail) parts.push(`The end of its output:\n${quoted(tail)}`)
  return parts.join('\n')
}

function standing({ state, startedAt }: ProcessRow): string {
  if (state.at === 'starting' || state.at === 'running') return 'is running'
  const seconds = Math.max(0, Math.round((state.endedAt - startedAt) / 1_000))
  return state.at === 'exited'
    ? `exited with code ${state.exitCode} after ${seconds} s`
    : 'is lost: the machine it ran on is gone, and it is unknown how it ended'
}

const quoted = (text: string): string =>
  maskSecrets(text)
    .trimEnd()
    .slice(-maxQuotedChars)
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n')
