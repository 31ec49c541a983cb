import { describe, expect, it } from 'vitest'
import clarify from '#tools/clarify.tool.ts'
import { call } from './support/call.ts'

describe('clarify', () => {
  it('returns a pending question', async () => {
    const { result } = await call(clarify, { question: 'Which?', choices: ['a', 'b'], multi_select: true })
    expect(result).toEqual({ later: { kind: 'question', question: 'Which?', choices: ['a', 'b'], multiSelect: true } })
  })

  it('refuses more than four choices', async () => {
    expect((await call(clarify, { question: 'Which?', choices: ['a', 'b', 'c', 'd', 'e'] })).failed).toBe(true)
  })
})
