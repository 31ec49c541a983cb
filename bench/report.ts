/** Renders the results as a table for the terminal and docs/performance.md, and as JSON. */

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Goal, Row } from './metric.ts'
import { repository } from './stage.ts'
import { estimate, median, type Estimate } from './stats.ts'

/** A goal is met only when the whole interval meets it. */
export const meets = (goal: Goal, { low, high }: Estimate): boolean =>
  goal.is === 'at most' ? high <= goal.value : low >= goal.value

const short = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2).replace(/\.00$/, '')
const withUnit = (value: number, unit: string): string =>
  unit === '×' ? short(value) : `${short(value)} ${unit}`.trim()

const intervalOf = ({ low, high, n }: Estimate): string => (n === 1 ? '' : ` [${short(low)}–${short(high)}]`)

const absolute = (row: Row): string =>
  [
    ...(row.ours && row.floor
      ? [`${short(median(row.ours))} ÷ ${short(median(row.floor))} ${row.absoluteUnit ?? ''}`.trim()]
      : []),
    ...(row.note ? [row.note] : []),
  ].join('; ')

export type Circumstances = {
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly rounds: number
  readonly self: boolean
}

const git = (...words: readonly string[]): string =>
  execFileSync('git', words, { cwd: repository, encoding: 'utf8' }).trim()

export const circumstances = (rounds: number, self: boolean): Circumstances => {
  const changed = git('status', '--porcelain', '--', 'src', 'package-lock.json', 'wrangler.toml') ? ' + changes' : ''
  const cores = cpus()
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    commit: git('rev-parse', '--short', 'HEAD') + changed,
    machine: `${cores.length} × ${cores[0]?.model ?? 'unknown CPU'}, ${memory}, Node ${process.version}`,
    rounds,
    self,
  }
}

const line = (row: Row): string => {
  const found = estimate(row.samples)
  const goal = `${row.goal.is === 'at most' ? '≤' : '≥'} ${withUnit(row.goal.value, row.unit)}`
  const verdict = meets(row.goal, found) ? 'met' : '**missed**'
  const value = `${withUnit(found.median, row.unit)}${intervalOf(found)}`
  return `| ${row.metric} | ${row.what} | ${value} | ${goal} | ${verdict} | <sub>${absolute(row)}</sub> |`
}

export const tableOf = (rows: readonly Row[], about: Circumstances): string =>
  [
    '| | | median [95 %] | goal | | absolute |',
    '|---|---|---|---|---|---|',
    ...rows.map(line),
    '',
    `<sub>${about.date} UTC · commit ${about.commit} · ${about.machine} · ${about.rounds} rounds${
      about.self ? ' · THE FLOOR MEASURED AGAINST ITSELF' : ''
    }</sub>`,
  ].join('\n')

export const writeJson = (rows: readonly Row[], about: Circumstances): void => {
  const data = rows.map((row) => {
    const found = estimate(row.samples)
    return { ...row, ...found, met: meets(row.goal, found) }
  })
  writeFileSync(join(repository, 'bench/last.json'), `${JSON.stringify({ ...about, rows: data }, null, 2)}\n`)
}

const [begin, end] = ['<!-- bench:begin -->', '<!-- bench:end -->']

export const writeDocs = (table: string): void => {
  const path = join(repository, 'docs/performance.md')
  const text = readFileSync(path, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${path} has no place for the table`)
  writeFileSync(path, `${text.slice(0, from + begin.length)}\n${table}\n${text.slice(to)}`)
}
