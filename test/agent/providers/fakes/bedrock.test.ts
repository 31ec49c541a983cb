/** Checks the validator itself: one that accepted everything would make every suite pass. */

import { expect, it } from 'vitest'
import { findBedrockViolations } from './bedrock.ts'

it('rejects unknown blocks, results without calls and too many cache marks', () => {
  const bodyWith = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
  const cachePoint = { cachePoint: { type: 'default' } }
  expect(findBedrockViolations(bodyWith({ text: 'a' }))).toEqual([])
  expect(findBedrockViolations(bodyWith({ text: 'a', image: {} }))).not.toEqual([])
  expect(findBedrockViolations(bodyWith({ toolResult: { toolUseId: 'c', content: [{ text: 'a' }] } })).join()).toMatch(
    /the calls were/,
  )
  expect(
    findBedrockViolations(bodyWith({ text: 'a' }, cachePoint, cachePoint, cachePoint, cachePoint, cachePoint)).join(),
  ).toMatch(/5 cache marks/)
  expect(findBedrockViolations(bodyWith(cachePoint)).join()).toMatch(/only cache marks/)
})
