import { describe, expect, it } from 'vitest'
import clarify from '#tools/clarify.tool.ts'
import { call } from './support/call.ts'

describe('clarify', () => {
  it('returns a pending question', async () => {
    const { result } = await call(clarify, { question: 'Which?', choices: ['a', 'b'], multi_select: true })
    expect(result).toEqual({ later: { kind: 'question', question: 'Which?', choices: ['a', 'b'], multiSelect: true } })
  })

  it('takes six choices and refuses a seventh', async () => {
    const six = ['a', 'b', 'c', 'd', 'e', 'f']
    expect((await call(clarify, { question: 'Which?', choices: six })).failed).toBeFalsy()
    expect((await call(clarify, { question: 'Which?', choices: [...six, 'g'] })).failed).toBe(true)
  })
})
