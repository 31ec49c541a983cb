/** Reads what `talaria eval` has found: from the tags of its sessions, and from the files that it writes. */

export type Outcome = 'passed' | 'failed' | 'open'

export const evalTag = 'eval'

/** The command tags a session when it has judged it. */
export const outcomeOf = (tags: readonly string[]): Outcome =>
  tags.includes(`${evalTag}-passed`) ? 'passed' : tags.includes(`${evalTag}-failed`) ? 'failed' : 'open'

export const nameOfCase = (title: string | null): string => (title ?? '').replace(/^eval: /, '')

export type CaseResult = {
  readonly name: string
  readonly model: string
  readonly passed: boolean
  /** The share of runs that passed. */
  readonly rate: number
  readonly cost: number | undefined
  /** Assertions that did not hold, with why. */
  readonly reasons: readonly string[]
  readonly sessions: readonly string[]
}

type Json = Readonly<Record<string, unknown>>
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isJson) : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The report of `--reporter json`, or the record for the next comparison. Undefined: it is neither. */
export function readResults(text: string): readonly CaseResult[] | undefined {
  const value = parse(text)
  if (!isJson(value)) return undefined
  if (Array.isArray(value['results'])) return listOf(value['results']).map(readCase)
  const rows = Object.entries(value)
  if (!rows.length || !rows.every(([, row]) => isJson(row) && typeof row['passed'] === 'boolean')) return undefined
  return rows.map(([name, row]) => readCase({ ...(row as Json), name }))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readCase({ name, model, passed, rate, runs }: Json): CaseResult {
  const all = listOf(runs)
  const broken = all.flatMap((run) => [...listOf(run['failures']), ...listOf(run['warnings'])])
  return {
    name: textOf(name),
    model: textOf(model),
    passed: passed === true,
    rate: typeof rate === 'number' ? rate : Number(passed === true),
    cost: all.length ? all.reduce((sum, { cost }) => sum + (typeof cost === 'number' ? cost : 0), 0) : undefined,
    reasons: [...new Set(broken.map(({ assertion, reason }) => `${textOf(assertion)}: ${textOf(reason)}`))],
    sessions: all.map(({ session }) => textOf(session)).filter(Boolean),
  }
}
