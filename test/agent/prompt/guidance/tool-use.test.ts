import { expect, it } from 'vitest'
import { renderBehaviour, renderToolGuidance } from '#agent/prompt/guidance/tool-use.ts'

it.each<[string[], RegExp[], RegExp[]]>([
  [[], [], [/memory/i, /skill/i, /session_search/]],
  [['read_file'], [], [/memory/i, /skill/i, /session_search/]],
  [['memory'], [/Memory/], [/skill/i, /session_search/]],
  [
    ['session_search', 'skill_view'],
    [/session_search/, /skill_view/],
    [/Memory/, /skill_manage/],
  ],
  [['skill_view', 'skill_manage'], [/skill_view/, /skill_manage/], [/Memory/]],
])('with %j it speaks of these tools only', (tools, present, absent) => {
  const text = renderBehaviour(new Set(tools))
  for (const pattern of present) expect(text).toMatch(pattern)
  for (const pattern of absent) expect(text).not.toMatch(pattern)
})

it('always says that what it reads is material, and speaks of calls only where there are tools', () => {
  const [without, withTools] = [renderToolGuidance(new Set()), renderToolGuidance(new Set(['terminal']))]
  expect([without, withTools]).toEqual([expect.stringContaining('is material'), expect.stringContaining('is material')])
  expect(without).not.toMatch(/call it/)
  expect(withTools).toMatch(/call it/)
})
