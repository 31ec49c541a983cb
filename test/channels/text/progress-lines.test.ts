import { describe, expect, it } from 'vitest'
import {
  addCall,
  addNote,
  type CallEvent,
  continueFrom,
  noProgress,
  renderProgress,
} from '#channels/text/progress-lines.ts'

const started = (n: number, tool = 'terminal', input: unknown = { command: `echo ${n}` }): CallEvent => ({
  type: 'tool.started',
  call_id: `c${n}`,
  tool,
  input,
})
const printed = (n: number, delta: string): CallEvent => ({
  type: 'tool.progress',
  call_id: `c${n}`,
  tool: 'terminal',
  delta,
})
const ended = (n: number, failed = false): CallEvent => ({
  type: 'tool.completed',
  call_id: `c${n}`,
  tool: 'terminal',
  failed,
})
const after = (...events: readonly CallEvent[]) => events.reduce(addCall, noProgress)

describe('renderProgress', () => {
  it('shows nothing when it is off, or nothing was called', () => {
    expect(renderProgress(after(started(1)), 'off')).toBe('')
    expect(renderProgress(noProgress, 'all')).toBe('')
  })

  it('names each tool once with "new"', () => {
    const calls = after(started(1), started(2), started(3, 'read_file', { path: 'a.txt' }))
    expect(renderProgress(calls, 'new')).toBe('▸ terminal\n▸ read_file')
  })

  it('shows each call and how it ended with "all"', () => {
    const calls = after(started(1), ended(1), started(2), ended(2, true), started(3, 'todo', {}))
    expect(renderProgress(calls, 'all')).toBe('✓ terminal: echo 1\n✗ terminal: echo 2\n▸ todo')
  })

  it('shows the last lines that a running call prints with "verbose"', () => {
    const calls = after(started(1), printed(1, 'one\ntwo\n'), printed(1, '\nthree\nfour'))
    expect(renderProgress(calls, 'verbose')).toBe('▸ terminal: echo 1\n    two\n    three\n    four')
    expect(renderProgress(addCall(calls, ended(1)), 'verbose')).toBe('✓ terminal: echo 1')
    expect(renderProgress(calls, 'all')).not.toContain('four')
  })

  it('is bounded, whatever is called and printed', () => {
    const many = Array.from({ length: 40 }, (_, n) => [
      started(n, 'terminal', { command: 'y'.repeat(9_000) }),
      printed(n, 'z'.repeat(90_000)),
    ])
    const text = renderProgress(after(...many.flat()), 'verbose')
    expect(text).toContain('… 30 earlier')
    expect(text.length).toBeLessThan(4_000)
  })

  it('masks secrets of inputs and output', () => {
    const key = `ghp_${'a1B2c3D4e5'.repeat(4)}`
    const text = renderProgress(
      after(started(1, 'terminal', { command: `login ${key}` }), printed(1, `token ${key}\n`)),
      'verbose',
    )
    expect(text).not.toContain(key)
  })
})

describe('a message of before a restart', () => {
  const goOn = (text: string, ...events: readonly CallEvent[]) => {
    const progress = addNote(continueFrom(text, noProgress), '→ allowed')
    return (mode: 'new' | 'all' | 'verbose') => renderProgress(events.reduce(addCall, progress), mode)
  }

  it('keeps its lines, and those of calls that begin again', () => {
    const text = '✓ terminal: echo 1\n▸ todo\n▸ terminal: echo 2'
    expect(goOn(text)('all')).toBe('✓ terminal: echo 1\n• todo\n• terminal: echo 2\n→ allowed')
    expect(goOn(text, started(2), ended(2), started(3))('all')).toBe(
      '✓ terminal: echo 1\n• todo\n✓ terminal: echo 2\n→ allowed\n▸ terminal: echo 3',
    )
  })

  it('takes another call, and the same one that comes once more, for further calls', () => {
    const text = '▸ terminal: echo 1\n    one\n    ▸ two'
    const again = { ...started(1), call_id: 'c9' }
    expect(goOn(text, started(2))('all')).toBe('• terminal: echo 1\n    one\n    ▸ two\n→ allowed\n▸ terminal: echo 2')
    expect(goOn('▸ terminal: echo 1', started(1), ended(1), again)('all')).toBe(
      '✓ terminal: echo 1\n→ allowed\n▸ terminal: echo 1',
    )
  })

  it('names each tool once with "new", and goes on counting what is hidden', () => {
    expect(goOn('▸ terminal\n▸ todo', started(1), ended(1))('new')).toBe('▸ terminal\n▸ todo\n→ allowed')
    const many = ['… 30 earlier', ...Array.from({ length: 10 }, (_, n) => `✓ terminal: echo ${n}`)].join('\n')
    const text = goOn(many, started(50))('all')
    expect(text.split('\n')).toHaveLength(11)
    expect(text).toMatch(/^… 32 earlier\n✓ terminal: echo 2\n/)
  })
})
