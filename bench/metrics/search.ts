/** P8: measures the full-text search of one tenant among a thousand, over a million messages. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { json, timedGet, type Target } from '../client.ts'
import { atMost, ratioRow, times, type Metric, type Pair, type Row } from '../metric.ts'
import { wordOf } from '../seed/corpus.ts'
import { million, perPage, seedHistory, wordsOfFirstTenant, type Size } from '../seed/history.ts'
import type { Contender, Stage } from '../stage.ts'
import { median, quantile } from '../stats.ts'

const tenant = 'bench-search'
const perClass = 10

/** Rank 30 of a language is a word like "but", rank 300 one like "problem". Rare words occur once. */
const classesOf = (size: Size): Readonly<Record<string, readonly string[]>> => {
  const said = wordsOfFirstTenant(size)
  const around = (rank: number): string[] =>
    Array.from({ length: 4 * perClass }, (_, n) => wordOf(rank + n))
      .filter((word) => said.has(word))
      .slice(0, perClass)
  const once = [...said].filter(([, count]) => count === 1).map(([word]) => word)
  return { rare: once.slice(0, perClass), mid: around(300), common: around(30) }
}

/** Questions of a common word, two others and a rare one. Words are optional, so each of them is read. */
const questionsOf = (classes: Readonly<Record<string, readonly string[]>>): readonly string[] =>
  (classes['rare'] ?? []).map((rare, i) => {
    const pick = (name: string, step: number) => classes[name]?.[(i * step) % (classes[name]?.length || 1)]
    return [pick('common', 1), pick('mid', 1), pick('mid', 3), rare].filter(Boolean).join('+')
  })

const hasPages = (path: string): boolean => {
  const db = new DatabaseSync(path)
  try {
    return db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'page'").get() !== undefined
  } finally {
    db.close()
  }
}

const databaseIn = (folder: string): string => {
  const found = readdirSync(join(folder, 'v3/d1'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sqlite'))
    .map((name) => join(folder, 'v3/d1', name))
    .find(hasPages)
  if (!found) throw new Error(`no database with pages in ${folder}`)
  return found
}

const newTenant = async (admin: Target): Promise<string> => {
  await json(admin, 'POST', '/api/admin/tenants', { id: tenant, name: 'Search' })
  const asked = { tenant_id: tenant, scopes: ['read', 'chat'], name: 'bench' }
  return (await json<{ key: string }>(admin, 'POST', '/api/admin/keys', asked)).key
}

/** Creates the tenant by the API and writes the messages into the database of the stopped server. */
const seeded = async (stage: Stage, size: Size): Promise<{ contender: Contender; key: string }> => {
  const empty = await stage.another()
  const key = await newTenant(empty.target)
  await empty.running.kill()
  let shown = 0
  for await (const written of seedHistory(databaseIn(empty.persist), tenant, size)) {
    if (written - shown < 100_000) continue
    shown = written
    process.stderr.write(` ${written / 1000}k`)
  }
  return { contender: await stage.another(empty.persist), key }
}

const path = (word: string): string => `/api/search?q=${word}`

const checkFound = async (target: Target, word: string): Promise<void> => {
  const { data } = await json<{ data: readonly unknown[] }>(target, 'GET', path(word))
  if (!data.length) throw new Error(`nothing was found for ${word}`)
}

/** Returns how many rows D1 bills for one search, counted by a server of its own. */
const rowsRead = async (stage: Stage, persist: string, key: string, words: readonly string[]): Promise<number> => {
  const { target, running } = await stage.counting(persist)
  const total = async (): Promise<number> =>
    (await json<{ d1: { read: number } }>(target, 'GET', '/api/bench/rows')).d1.read
  try {
    const search = { ...target, key }
    await json(search, 'GET', path(words[0] ?? ''))
    const before = await total()
    for (const word of words) await json(search, 'GET', path(word))
    return ((await total()) - before) / words.length
  } finally {
    await running.kill()
  }
}

const rowsFor = (found: Readonly<Record<string, readonly Pair[]>>, all: readonly number[], note: string): Row[] => [
  ...Object.entries(found).map(([name, pairs]) =>
    ratioRow({ metric: 'P8', what: `search, ${name} word ÷ empty query`, goal: atMost(2), absoluteUnit: 'ms' }, pairs),
  ),
  { metric: 'P8', what: 'search, 95th percentile', unit: 'ms', goal: atMost(15), samples: [quantile(all, 0.95)], note },
]

export const search: Metric = {
  id: 'P8',
  what: 'search over a million messages',
  run: async (stage, { rounds, quick }) => {
    const size = quick ? { ...million, tenants: 100 } : million
    const { target: floor } = await stage.floor()
    const { contender, key } = await seeded(stage, size)
    try {
      const target: Target = { ...contender.target, key }
      const classes = classesOf(size)
      const questions = questionsOf(classes)
      const found: Record<string, Pair[]> = {}
      const [all, asked]: [number[], number[]] = [[], []]
      for (const [name, words] of Object.entries(classes)) {
        for (const word of words) await checkFound(target, word)
        found[name] = []
      }
      await times(rounds, async () => {
        for (const [name, words] of Object.entries(classes)) {
          const [ours, empty]: [number[], number[]] = [[], []]
          for (const word of words) {
            ours.push(await timedGet(target, path(word)))
            empty.push(await timedGet(floor, '/select1'))
          }
          all.push(...ours)
          found[name]?.push({ ours: median(ours), floor: median(empty) })
        }
        for (const question of questions) asked.push(await timedGet(target, path(question)))
      })
      const messages = size.tenants * size.sessions * size.pages * perPage
      const rows = rowsFor(found, all, `${messages} messages of ${size.tenants} tenants`)
      await contender.running.kill()
      const read = await rowsRead(stage, contender.persist, key, classes['common'] ?? [])
      const readByQuestion = await rowsRead(stage, contender.persist, key, questions)
      const of = { metric: 'P8', unit: '' } as const
      return [
        ...rows,
        {
          ...of,
          what: 'search, four words, 95th percentile',
          unit: 'ms',
          goal: atMost(15),
          samples: [quantile(asked, 0.95)],
        },
        { ...of, what: 'rows read, common word', goal: atMost(60), samples: [read] },
        { ...of, what: 'rows read, four words', goal: atMost(2_200), samples: [readByQuestion] },
      ]
    } finally {
      await contender.running.kill()
    }
  },
}
