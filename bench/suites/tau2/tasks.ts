/** Reads the shop and the tasks of tau2's retail domain, and what each task's calls make of the shop. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callRetail, type Shop } from './retail.ts'

export type GoldCall = { readonly name: string; readonly input: Readonly<Record<string, unknown>> }
export type Task = { readonly id: string; readonly calls: readonly GoldCall[] }

type StoredTask = {
  readonly id: string
  readonly evaluation_criteria: {
    readonly actions: readonly { readonly name: string; readonly arguments: GoldCall['input'] }[] | null
  }
}

const readJson = <T>(folder: string, file: string): T => JSON.parse(readFileSync(join(folder, file), 'utf8')) as T

export const readShop = (folder: string): Shop => readJson(folder, 'db.json')

export const readTasks = (folder: string): readonly Task[] =>
  readJson<readonly StoredTask[]>(folder, 'tasks.json').map(({ id, evaluation_criteria: { actions } }) => ({
    id,
    calls: (actions ?? []).map(({ name, arguments: input }) => ({ name, input })),
  }))

/** Keys are sorted, so that equal shops have equal hashes. */
export function hashShop(shop: Shop): string {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, one]) => [key, sorted(one)]),
    )
  }
  return createHash('sha256')
    .update(JSON.stringify(sorted(shop)))
    .digest('hex')
}

/** The shop after the calls of a task, without an agent in between. A call that is refused changes nothing. */
export function applyGold(shop: Shop, { calls }: Task): string {
  const copy = structuredClone(shop)
  for (const { name, input } of calls) {
    try {
      callRetail(copy, name, input)
    } catch {
      // The agent gets the same refusal.
    }
  }
  return hashShop(copy)
}
