/** Tests what a session says about itself in a list: counts, tools and a line without Markdown and secrets. */

import { describe, expect, it } from 'vitest'
import { addFacets, type FacetOptions, firstLineOf, listTools, noFacets } from '#agent/core/facets.ts'
import { type AssistantMessage, type Message, textIn, userText } from '#agent/core/message.ts'

const options: FacetOptions = { redact: (text) => text, isCurrent: () => true, parseSummary: textIn }
const answer = (text: string, ...tools: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  content: [
    { type: 'text', text },
    ...tools.map((name, i) => ({ type: 'call', id: `c${i}`, name, input: {} }) as const),
  ],
  stop: 'end',
})
const countAll = (messages: readonly (Message | { summary: string })[], changes: Partial<FacetOptions> = {}) =>
  messages.reduce((facets, one, i) => {
    const entry =
      'summary' in one
        ? { seq: i + 1, message: userText(one.summary, 'summary'), covers: i }
        : { seq: i + 1, message: one }
    return addFacets(facets, entry, { ...options, ...changes })
  }, noFacets)

describe('facets', () => {
  it('count messages and calls, and order tools by their use', () => {
    const facets = countAll([userText('go'), answer('', 'b', 'a', 'a'), answer('', 'c', '__proto__'), answer('Done.')])
    expect([facets.messages, facets.calls]).toEqual([4, 5])
    expect(listTools(facets).map(({ name, calls }) => `${name} ${calls}`)).toEqual(['a 2', '__proto__ 1', 'b 1', 'c 1'])
  })

  it('name a limited number of tools, and count the calls of all', () => {
    const facets = countAll(Array.from({ length: 100 }, (_, i) => answer('', `tool_${i}`, 'tool_0')))
    expect([facets.calls, listTools(facets).length, facets.tools['tool_0']]).toEqual([200, 64, 101])
  })

  it('keep the line of the last answer, or of the newest summary of the conversation', () => {
    expect(countAll([userText('hi'), answer('One.'), answer('', 'a'), answer('Two.')]).line?.text).toBe('Two.')
    const summarised = [answer('One.'), { summary: '## Goal\nA report on bees' }, answer('Two.')]
    expect(countAll(summarised).line).toMatchObject({ text: 'A report on bees', seq: 2, isSummary: true })
    expect(countAll([...summarised, { summary: '## Goal: Honey' }, answer('Three.')]).line?.text).toBe('Honey')
    // Another conversation of the session has begun behind the summary.
    expect(countAll(summarised, { isCurrent: (seq) => seq > 2 }).line?.text).toBe('Two.')
  })

  it('mask secrets before the line is cut', () => {
    const secret = `sk-${'x'.repeat(300)}`
    const redact = (text: string) => text.replaceAll(secret, '[masked]')
    expect(countAll([answer(`The key is ${secret}.`)], { redact }).line?.text).toBe('The key is [masked].')
    expect(countAll([{ summary: `Goal: use ${secret}` }], { redact }).line?.text).toBe('Goal: use [masked]')
  })

  it('carry the marks of the message', () => {
    const marked = { ...answer('From a page'), marks: { isForeign: true } } as const
    expect(countAll([marked]).line?.marks).toEqual({ isForeign: true })
  })
})

it.each([
  ['', ''],
  ['   \n\n', ''],
  ['Plain text.', 'Plain text.'],
  [
    '# Report\n\nIt **works** with `code`, [a link](https://example.com "t") and *stress*.',
    'It works with code, a link and stress.',
  ],
  ['# Only a title', 'Only a title'],
  ['## Goal: Fix the build\n## Done\n1. Read it', 'Fix the build Read it'],
  ['```js\nlet a = 1\n```\nThat is it', 'let a = 1 That is it'],
  ['| a | b |\n|---|---|\nBelow the table', 'Below the table'],
  ['- one\n- two', 'one two'],
  ['snake_case and 2*3*4', 'snake_case and 2*3*4'],
  ['first\u2028second\u0007third', 'first second third'],
  ['half \ud83d', 'half \ufffd'],
])('the first line of %j is %j', (text, line) => {
  expect(firstLineOf(text)).toBe(line)
})

it('a long line is cut at a word, and never within a character', () => {
  const words = firstLineOf('word '.repeat(100))
  expect(words.length).toBeLessThanOrEqual(160)
  expect(words.endsWith('word…')).toBe(true)
  for (const shift of ['', 'a']) expect(firstLineOf(shift + '🐝'.repeat(200)).isWellFormed()).toBe(true)
})
