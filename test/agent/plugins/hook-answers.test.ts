/** Tests what hooks may answer, and how the answers of several plugins become one decision. */

import { describe, expect, it } from 'vitest'
import { combineAnswers, failClosed, type HookAnswer, readHookAnswer } from '#agent/plugins/hook-answers.ts'

describe('an answer', () => {
  it.each([
    [undefined, { action: 'none' }],
    [null, { action: 'none' }],
    [{ action: 'block' }, { action: 'block', reason: '' }],
    [
      { action: 'block', message: 5 },
      { action: 'block', reason: '' },
    ],
    [
      { action: 'approve', message: 'x'.repeat(9_000) },
      { action: 'approve', reason: 'x'.repeat(500) },
    ],
    [
      { action: 'modify', args: { a: 1 } },
      { action: 'modify', args: { a: 1 } },
    ],
  ])('%j is read', (raw, answer) => expect(readHookAnswer('p', raw)).toEqual({ plugin: 'p', ...answer }))

  it.each([
    [{ action: 'allow' }],
    [{ action: 'modify' }],
    [{ action: 'modify', args: [1] }],
    ['block'],
    [[]],
    [true],
    [{}],
  ])('%j is a failure', (raw) => expect(readHookAnswer('p', raw)).toBeUndefined())
})

const none = (plugin: string): HookAnswer => ({ plugin, action: 'none' })
const block = (plugin: string): HookAnswer => ({ plugin, action: 'block', reason: 'no' })
const approve = (plugin: string): HookAnswer => ({ plugin, action: 'approve', reason: 'look' })
const modify = (plugin: string, args: Record<string, unknown>): HookAnswer => ({ plugin, action: 'modify', args })

describe('several answers', () => {
  it.each<[string, readonly HookAnswer[], object]>([
    ['nothing', [none('a')], { ruling: { by: [] } }],
    ['a block before an approval', [approve('a'), block('b')], { ruling: { action: 'block', by: ['a', 'b'] } }],
    ['the first block by name', [block('z'), block('b')], { ruling: { reason: 'the plugin b says: no' } }],
    ['a failure that blocks', [failClosed('a')], { ruling: { action: 'block' } }],
    [
      'changes by name',
      [modify('b', { y: 'b', z: 'b' }), modify('a', { x: 'a', y: 'a' })],
      { ruling: { by: ['a', 'b'] }, input: { x: 'a', y: 'b', z: 'b', kept: 1 } },
    ],
    [
      'an approval of changes',
      [approve('a'), modify('b', { x: 1 })],
      { ruling: { action: 'approve' }, input: { x: 1 } },
    ],
  ])('become %s', (_, answers, combined) => expect(combineAnswers(answers, { kept: 1 })).toMatchObject(combined))

  it('change nothing of a blocked call, nor the input itself', () => {
    const input = Object.freeze({ kept: 1 })
    expect('input' in combineAnswers([block('a'), modify('b', { x: 1 })], input)).toBe(false)
    expect(combineAnswers([modify('b', { x: 1 })], input).input).toEqual({ kept: 1, x: 1 })
  })
})
