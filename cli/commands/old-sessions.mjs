/** Saves sessions as files, and deletes those that nobody has used for long. */

import { writeFileSync } from 'node:fs'
import { readAnswer } from '../ask.mjs'
import { ApiError, sessionPath } from '../client.mjs'
import { exits, UsageError } from '../exits.mjs'
import { note, plain, print, printList, printOne } from '../output.mjs'

const formats = ['json', 'jsonl', 'md', 'html', 'sharegpt']

/** `sessions export ID [FILE|-]`: the name of the file decides about the format, unless it is given. */
export async function exportSession(client, { format, ...options }, id, file = '-') {
  const chosen = format ?? formats.find((one) => file.endsWith(`.${one}`)) ?? 'md'
  const answer = await client.fetch(sessionPath(id, `/export?format=${chosen}`))
  const text = await answer.text()
  if (!answer.ok) throw new ApiError(readMessage(text), { status: answer.status })
  // A file is written as it is; a terminal obeys control characters.
  if (file === '-') return print(process.stdout.isTTY ? plain(text) : text)
  writeFileSync(file, text)
  printOne(options, { id, file, format: chosen }, `${file}: ${chosen}, ${text.length} characters`)
}

function readMessage(text) {
  try {
    return JSON.parse(text).error.message
  } catch {
    return text.slice(0, 200)
  }
}

const dayMs = 86_400_000
const batch = 100

/** Pinned sessions and those that run or wait stay. */
export async function pruneSessions(client, options) {
  const { 'older-than': days = '90', archived, yes } = options
  if (!/^\d{1,5}$/.test(days)) throw new UsageError(`--older-than is a number of days, not "${days}".`)
  const limit = Date.now() - Number(days) * dayMs
  const all = await client.list(`/api/sessions?limit=100&archived=${archived ? 'true' : 'all'}`, 100_000)
  const old = all.filter((one) => !one.pinned && one.status === 'idle' && Date.parse(one.updated_at) < limit)
  if (options['dry-run'] || !old.length) return printOld(options, old)
  if (!yes && !(await confirm(old))) return exits.failed
  const result = { deleted: 0, failed: 0 }
  for (let at = 0; at < old.length; at += batch) {
    const ids = old.slice(at, at + batch).map(({ id }) => id)
    const { body } = await client.call('POST', '/api/sessions/delete', { ids })
    result.deleted += body.deleted.length
    result.failed += body.failed.length
  }
  printOne(options, result, `${result.deleted} deleted, ${result.failed} failed`)
  return result.failed ? exits.failed : exits.done
}

const printOld = (options, old) =>
  printList(options, old, ['ID', 'UPDATED', 'MESSAGES', 'TITLE'], (one) => [
    one.id,
    one.updated_at.slice(0, 10),
    String(one.message_count),
    one.title ?? '',
  ])

async function confirm(old) {
  if (!process.stdin.isTTY) throw new UsageError('Deleting needs --yes where nobody can be asked.')
  for (const { updated_at: at, title } of old.slice(0, 10)) note(`  ${at.slice(0, 10)}  ${plain(title ?? 'untitled')}`)
  if (old.length > 10) note(`  and ${old.length - 10} more`)
  const typed = await readAnswer(`Delete ${old.length} sessions with their messages and files? yes or no: `)
  return typed?.trim().toLowerCase() === 'yes'
}
