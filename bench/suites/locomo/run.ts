/**
 * `node bench/suites/locomo/run.ts FOLDER [--names]`: measures how often a search finds the session with the evidence of a
 * question of LoCoMo among its first five. README.md explains the figures.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Entry, Page } from '#agent/core/history.ts'
import { userText, type Message } from '#agent/core/message.ts'
import { noUsage } from '#agent/core/usage.ts'
import { createD1History } from '#db/history.ts'
import { openLocalD1 } from '../../seed/local-d1.ts'

type Turn = { readonly speaker: string; readonly text: string }
type Question = { readonly question: string; readonly evidence?: readonly string[]; readonly category: number }
type Talk = {
  readonly conversation: Readonly<Record<string, string | readonly Turn[]>>
  readonly qa: readonly Question[]
}

/** Questions of this category have no answer in the talk. */
const unanswerable = 5
const first = 5

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { names: { type: 'boolean', default: false }, misses: { type: 'boolean', default: false } },
})
const [folder] = positionals
if (!folder) throw new Error('usage: node bench/suites/locomo/run.ts FOLDER [--names]')

const migrations = join(import.meta.dirname, '../../../migrations')
const { binding, close, exec } = openLocalD1(':memory:')
for (const name of readdirSync(migrations)
  .filter((file) => file.endsWith('.sql'))
  .toSorted())
  exec(readFileSync(join(migrations, name), 'utf8'))

const talks = JSON.parse(readFileSync(join(folder, 'locomo10.json'), 'utf8')) as readonly Talk[]

/** "1:56 pm on 8 May, 2023" */
function readTime(text: string): number {
  const [, hour, minute, half, day, month, year] = /(\d+):(\d+) (am|pm) on (\d+) (\w+),? (\d+)/.exec(text) ?? []
  const at = Date.parse(`${day} ${month} ${year} 00:00 UTC`)
  return at + ((Number(hour) % 12) + (half === 'pm' ? 12 : 0)) * 3_600_000 + Number(minute) * 60_000
}

/** Pages of imported messages, as the projection builds them: each begins with a message of the user. */
function pagesOf(turns: readonly Turn[], at: number): Page[] {
  const pages: Page[] = []
  for (const [i, { speaker, text }] of turns.entries()) {
    const said = values.names ? `${speaker}: ${text}` : text
    const message: Message =
      i % 2 === 0 ? userText(said) : { role: 'assistant', content: [{ type: 'text', text: said }], stop: 'end' }
    const entry: Entry = { id: `m${i + 1}`, seq: i + 1, runId: 'import', at: at + i * 1000, tokens: 1, message }
    const open = pages.at(-1)
    if (!open || i % 2 === 0) pages.push({ n: i + 1, runId: 'import', at: entry.at, entries: [entry] })
    else pages[pages.length - 1] = { ...open, entries: [...open.entries, entry] }
  }
  return pages
}

async function store(tenant: string, talk: Talk, prefix: string): Promise<number> {
  const history = createD1History(binding, tenant)
  let count = 0
  for (const [name, turns] of Object.entries(talk.conversation)) {
    const [, number] = /^session_(\d+)$/.exec(name) ?? []
    if (number === undefined || typeof turns === 'string') continue
    const at = readTime(String(talk.conversation[`${name}_date_time`]))
    const record = {
      id: `${prefix}${number}`,
      title: null,
      source: 'import',
      model: null,
      parentId: null,
      createdAt: at,
      updatedAt: at,
      usage: noUsage,
      state: {},
    }
    await history.append(record, pagesOf(turns, at))
    count++
  }
  return count
}

/** The words that a careful caller would write: without the question words and the smallest words of English. */
const small = new Set(
  'a an the and or but if of at by for with about to from in on up is are was were be been has have had do does did what when where who whom which why how will would could should can may might it its his her their they he she him them that this these those not any some as than then so into during after before between both each'.split(
    ' ',
  ),
)
const keywordsOf = (question: string): string =>
  (question.match(/[\p{L}\p{N}]+/gu) ?? [])
    .filter((word) => !small.has(word.toLowerCase()) && word.length > 1)
    .join(' ')

const evidenceOf = ({ evidence = [] }: Question): ReadonlySet<string> =>
  new Set(evidence.flatMap((one) => [...one.matchAll(/D:?(\d+):/g)].map(([, session = '']) => session)))

async function isFound(tenant: string, query: string, wanted: ReadonlySet<string>): Promise<boolean> {
  const hits = await createD1History(binding, tenant).search(query, 50)
  const sessions = [...new Set(hits.map((hit) => hit.session_id))].slice(0, first)
  return sessions.some((id) => wanted.has(id))
}

const times: number[] = []
const found = {
  'one talk, keywords': 0,
  'one talk, question': 0,
  'all sessions, keywords': 0,
  'all sessions, question': 0,
}
async function ask(
  name: keyof typeof found,
  tenant: string,
  query: string,
  wanted: ReadonlySet<string>,
): Promise<void> {
  const began = performance.now()
  const isHit = await isFound(tenant, query, wanted)
  times.push(performance.now() - began)
  if (isHit) found[name]++
  else if (values.misses) process.stdout.write(`${name}: ${query}\n`)
}

let [questions, sessions] = [0, 0]
for (const [i, talk] of talks.entries()) {
  sessions += await store(`talk-${i}`, talk, '')
  await store('all', talk, `${i}-`)
}
for (const [i, talk] of talks.entries())
  for (const one of talk.qa) {
    const evidence = evidenceOf(one)
    if (one.category === unanswerable || evidence.size === 0) continue
    questions++
    const inAll = new Set([...evidence].map((number) => `${i}-${number}`))
    const asked = [
      ['one talk, keywords', `talk-${i}`, keywordsOf(one.question), evidence],
      ['one talk, question', `talk-${i}`, one.question, evidence],
      ['all sessions, keywords', 'all', keywordsOf(one.question), inAll],
      ['all sessions, question', 'all', one.question, inAll],
    ] as const
    for (const [kind, where, query, wanted] of asked) await ask(kind, where, query, wanted)
  }
close()

const percent = (count: number): string => `${((100 * count) / questions).toFixed(1)} %`
process.stdout.write(`${sessions} sessions, ${questions} questions, recall of the session among the first ${first}:\n`)
for (const [name, count] of Object.entries(found)) process.stdout.write(`  ${name}: ${percent(count)}\n`)
const sorted = times.toSorted((one, other) => one - other)
const at = (share: number): string => `${(sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1)} ms`
process.stdout.write(`a search without a server: median ${at(0.5)}, 95 % ${at(0.95)}\n`)
