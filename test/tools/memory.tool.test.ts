import { describe, expect, it } from 'vitest'
import type { Memory, MemoryChange, MemoryResult } from '#agent/core/recall/memory.ts'
import memoryTool from '#tools/memory.tool.ts'
import { call } from './support/call.ts'

const view = { entries: ['Likes tea.'], chars: 10, limit: 2_200 }

function fakeMemory(result: MemoryResult, isLast = false) {
  const changes: MemoryChange[] = []
  const memory: Memory = {
    read: async () => result,
    change: async (_authority, change) => {
      changes.push(change)
      return { result, isLast }
    },
  }
  return { memory, changes }
}

describe('memory', () => {
  it('turns one action into one operation', async () => {
    const { memory, changes } = fakeMemory({ kind: 'done', view, isChanged: true })
    const { result, failed } = await call(
      memoryTool,
      { target: 'memory', action: 'add', content: 'Likes tea.' },
      { memory },
    )
    expect(failed).toBe(false)
    expect(result).toMatchObject({ success: true, usage: '10 of 2200 characters (0 %)', entries: ['Likes tea.'] })
    expect(changes).toMatchObject([{ target: 'memory', operations: [{ action: 'add', content: 'Likes tea.' }] }])
  })

  it('accepts new_text, and a batch', async () => {
    const { memory, changes } = fakeMemory({ kind: 'done', view, isChanged: true })
    await call(memoryTool, { target: 'user', action: 'replace', old_text: 'tea', new_text: 'x' }, { memory })
    const operations = [
      { action: 'remove', old_text: 'tea' },
      { action: 'add', content: 'y' },
    ]
    await call(memoryTool, { target: 'user', operations }, { memory })
    expect(changes.map((change) => change.operations)).toEqual([
      [{ action: 'replace', oldText: 'tea', content: 'x' }],
      [
        { action: 'remove', oldText: 'tea' },
        { action: 'add', content: 'y' },
      ],
    ])
  })

  it.each([
    [{ target: 'memory' }, /add, replace, remove or read/],
    [{ target: 'memory', action: 'add' }, /needs content/],
    [{ target: 'memory', action: 'replace', content: 'x' }, /needs old_text/],
    [{ target: 'memory', action: 'remove' }, /needs old_text/],
    [{ target: 'memory', action: 'add', operations: [{ action: 'add', content: 'x' }] }, /either/],
    [{ target: 'memory', operations: [{ action: 'remove' }] }, /needs old_text/],
  ])('explains %j', async (input, message) => {
    const { memory, changes } = fakeMemory({ kind: 'done', view, isChanged: true })
    const { result, failed } = await call(memoryTool, input, { memory })
    expect(failed).toBe(true)
    expect(result).toMatchObject({ success: false, error: expect.stringMatching(message) })
    expect(changes).toEqual([])
  })

  it('reads without changing anything', async () => {
    const { memory, changes } = fakeMemory({ kind: 'done', view, isChanged: false })
    const { result } = await call(memoryTool, { target: 'memory', action: 'read' }, { memory })
    expect(result).toMatchObject({ success: true, entries: ['Likes tea.'] })
    expect(changes).toEqual([])
  })

  it('ME1: shows usage and entries for a refusal, and ends the third one', async () => {
    const refused: MemoryResult = { kind: 'refused', error: 'Too long.', view }
    const first = await call(memoryTool, { target: 'memory', action: 'add', content: 'x' }, fakeMemory(refused))
    expect(first.result).toMatchObject({
      success: false,
      usage: '10 of 2200 characters (0 %)',
      current_entries: ['Likes tea.'],
    })
    expect(first.result).not.toHaveProperty('done')
    const last = await call(memoryTool, { target: 'memory', action: 'add', content: 'x' }, fakeMemory(refused, true))
    expect(last.result).toMatchObject({
      success: false,
      done: true,
      error: expect.stringMatching(/leave memory unchanged/),
    })
  })

  it('tells that a write waits for a person', async () => {
    const { memory } = fakeMemory({ kind: 'staged', id: 'mem_1', view })
    const { result, failed } = await call(memoryTool, { target: 'memory', action: 'add', content: 'x' }, { memory })
    expect(failed).toBe(false)
    expect(result).toMatchObject({
      success: true,
      pending_id: 'mem_1',
      message: expect.stringMatching(/memory approve mem_1/),
    })
  })
})
