import { expect, it } from 'vitest'
import { simulate } from './simulation.ts'

const runs = Number(process.env['SIMULATIONS'] ?? 10_000)
const first = Number(process.env['SEED'] ?? 1)

it(`every turn ends well, in ${runs} worlds that fail, die and interrupt`, async () => {
  const violations: string[] = []
  for (let seed = first; seed < first + runs && violations.length < 5; seed++) {
    const found = await simulate(seed)
    if (found) violations.push(`seed ${seed}: ${found}`)
  }
  expect(violations).toEqual([])
}, 600_000)
