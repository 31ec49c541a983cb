import { describe, expect, it } from 'vitest'
import { collectEffects, renderEffects } from '#agent/prompt/compression/effects.ts'
import { asks, callsTool, returns, toEntries } from './messages.ts'

const hasEffect = (name: string) => name !== 'read_file'
const entries = toEntries([
  asks('go'),
  callsTool('1', { path: 'a' }),
  returns('1'),
  callsTool('2', { command: 'git push' }, 'terminal'),
  returns('2', 'pushed', 'terminal'),
  callsTool('3', { path: 'b', content: 'x'.repeat(900) }, 'write_file'),
  returns('3', 'lost', 'write_file', true),
])

describe('the calls with effects', () => {
  it('are listed with their outcome; reading is not', () => {
    expect(collectEffects(entries, [], hasEffect)).toEqual([
      'terminal {"command":"git push"} → done',
      'write_file {"path":"b"} → failed, or its outcome is unknown',
    ])
  })

  it('follow those of earlier compressions; a repeated one moves to the end', () => {
    const earlier = ['terminal {"command":"git push"} → done', 'terminal {"command":"make"} → done']
    expect(collectEffects(entries, earlier, hasEffect)).toEqual([
      'terminal {"command":"make"} → done',
      'terminal {"command":"git push"} → done',
      'write_file {"path":"b"} → failed, or its outcome is unknown',
    ])
  })

  it('are rendered newest last, as many as there is room for', () => {
    expect(renderEffects([])).toBe(undefined)
    const text = renderEffects(['one → done', 'two → done', 'three → done'], 30)
    expect(text).toMatch(
      /^These calls ran before\.[^\n]*\n- \(1 earlier calls are not listed\)\n- two → done\n- three → done$/,
    )
  })
})
