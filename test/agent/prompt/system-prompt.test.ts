import { describe, expect, it } from 'vitest'
import { renderSystemPrompt } from '../../../src/agent/prompt/system-prompt.ts'

describe('renderSystemPrompt()', () => {
  const parts = { date: '2026-11-21', timezone: 'Europe/Berlin' }

  it('returns the same text for the same parts, without the time of day', () => {
    expect(renderSystemPrompt(parts)).toBe(renderSystemPrompt({ ...parts }))
    expect(renderSystemPrompt(parts)).not.toMatch(/\d\d:\d\d/)
  })

  it('contains the workspace and the instructions in a fixed order', () => {
    const text = renderSystemPrompt({ ...parts, workspace: 'a small machine', instructions: ' Speak Latin. ' })
    const positions = ['You are Talaria', 'a small machine', 'Speak Latin.', '2026-11-21 (Europe/Berlin)'].map((part) =>
      text.indexOf(part),
    )
    expect(positions.every((position) => position >= 0)).toBe(true)
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
  })
})
