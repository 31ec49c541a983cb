/** Tests a tree of 25 agents under random kills. `TREES=1 TREE_SEED=N` repeats a seed; `npm run chaos` runs more. */

import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { allowManyUnattendedTurns } from '#test/support/many-unattended-turns.ts'
import { applyMigrations } from '#test/worker/client.ts'
import { runTree } from './tree.ts'

beforeAll(applyMigrations)
// A tree has 24 of them, and a tenant 300 in an hour.
allowManyUnattendedTurns()

const { TREES = '1', TREE_SEED = '1' } = env as unknown as Readonly<Record<string, string | undefined>>
const [seeds, firstSeed] = [Number(TREES), Number(TREE_SEED)]

describe('a tree of 1 + 8 + 16 agents', () => {
  it.each(Array.from({ length: seeds }, (_, n) => firstSeed + n))(
    'ends with every result once under random kills, seed %i',
    async (seed) => expect(await runTree(seed, { kills: 12 })).toBe(25),
    60_000,
  )
})
