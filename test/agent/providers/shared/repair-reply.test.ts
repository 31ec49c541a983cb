import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Dialect, ModelRequest } from '#agent/core/dialect.ts'
import type { AssistantMessage } from '#agent/core/message.ts'
import { noUsage } from '#agent/core/usage.ts'
import { repairReplies } from '#agent/providers/shared/repair-reply.ts'

const text = (words: string) => ({ type: 'text', text: words }) as const
const thinking = (words: string) => ({ type: 'thinking', text: words }) as const
const call = (name: string) => ({ type: 'call', id: 'c', name, input: {} }) as const

type Reply = {
  readonly content: AssistantMessage['content']
  readonly tools?: readonly string[]
  readonly size?: number
}

/** Passes a reply through the repair. `size`: the characters of a delta. */
async function repair({ content, tools = [], size = 1_000_000 }: Reply) {
  const dialect: Dialect = {
    call: (_request, _endpoint, { onDelta }) => {
      for (const part of content) {
        const words = part.type === 'call' ? '' : part.text
        for (let at = 0; at < words.length; at += size)
          onDelta({ of: part.type === 'text' ? 'text' : 'thinking', text: words.slice(at, at + size) })
      }
      return Promise.resolve({ message: { role: 'assistant', content, stop: 'end' }, usage: noUsage })
    },
  }
  const shown = { text: '', thinking: '' }
  let restarts = 0
  const reply = await repairReplies(dialect).call(
    { model: 'm', system: '', transcript: [], tools: tools.map((name) => ({ name })) } as unknown as ModelRequest,
    { id: '', baseUrl: '', key: '', headers: {} },
    {
      signal: new AbortController().signal,
      onDelta: ({ of, text: words }) => void (shown[of] += words),
      onTextDiscarded: () => {
        shown.text = ''
        restarts++
      },
      onActivity: () => undefined,
      sleep: () => Promise.resolve(),
    },
  )
  return { content: reply.message.content, shown, restarts }
}

const inline: readonly (readonly [string, string, AssistantMessage['content']])[] = [
  [
    'between tags',
    '<think>\nThe user greets me.\n</think>\n\nHello!',
    [thinking('The user greets me.'), text('Hello!')],
  ],
  ['after white space', '\n <think>a</think>b', [thinking('a'), text('b')]],
  ['of other names', '<thinking>a</thinking>b', [thinking('a'), text('b')]],
  ['of MiniMax', '<mm:think>a</mm:think>\nb', [thinking('a'), text('b')]],
  ['in capitals', '<THINK>a</THINK>b', [thinking('a'), text('b')]],
  ['of Magistral', '[THINK]a < b[/THINK]c', [thinking('a < b'), text('c')]],
  ['of Kimi-VL', '◁think▷a◁/think▷c', [thinking('a'), text('c')]],
  [
    'of gpt-oss',
    '<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b',
    [thinking('a'), text('b')],
  ],
  ['whose tag closes twice', '<think>a</think>\n</think>\nb', [thinking('a'), text('b')]],
  ['with tags of others in it', '<think>a [/THINK] b</think>c', [thinking('a [/THINK] b'), text('c')]],
  ['in two blocks', '<think>a</think>\n<think>b</think>\nc', [thinking('ab'), text('c')]],
  ['that is empty', '<think>\n\n</think>\n\nHello!', [text('Hello!')]],
  ['that does not end', '<think>a\nb', [thinking('a\nb')]],
  ['without an answer', '<think>a</think>\n', [thinking('a')]],
  ['with other tags in it', '<think>if a </b> c < d</think>e', [thinking('if a </b> c < d'), text('e')]],
  ['before a text with tags', '<think>a</think>Use `</think>` here', [thinking('a'), text('Use `</think>` here')]],
  ['with only the closing tag', 'First I look.\n</think>\n\nHello!', [thinking('First I look.'), text('Hello!')]],
  ['with only the closing tag in a line', 'I look.</think>\nHello!', [thinking('I look.'), text('Hello!')]],
  ['with only the closing tag at the end', 'I look.\n</think>', [thinking('I look.')]],
  ['with nothing before the closing tag', '</think>\n\nHello!', [text('Hello!')]],
]
const plain: readonly (readonly [string, string])[] = [
  ['a tag in a sentence', 'The tag <think> begins it.'],
  ['both tags in a sentence', 'Models write <think>…</think> around it.'],
  ['a closing tag in a sentence', 'It ends with </think> and goes on.'],
  ['a closing tag in backticks', 'The end is `</think>`\nand so on'],
  ['a closing tag in a fence', 'Look:\n```html\n</think>\n```\nDone'],
  ['both tags in lines', 'Write:\n<think>\nx\n</think>\nDone'],
  ['a closing tag in JSON', '{"a": "x</think>\n"}'],
  ['another tag', '<thinker>a</thinker>'],
  ['a tag with an attribute', '<think a="b">c</think>'],
  ['a comparison', '1 < 2'],
  ['white space around', '\n\n  a  \n'],
  ['an open angle bracket', 'a <'],
  ['the beginning of a closing tag', 'a </thi'],
]

describe('thinking in the text of a reply', () => {
  const join = (content: AssistantMessage['content'], of: 'text' | 'thinking') =>
    content.map((part) => (part.type === of ? part.text : '')).join('')

  it.each(inline)('%s becomes thinking', async (_name, written, expected) => {
    const { content, shown } = await repair({ content: [text(written)] })
    expect(content).toEqual(expected)
    expect(shown).toEqual({ text: join(expected, 'text'), thinking: join(expected, 'thinking') })
  })

  it.each(plain)('is text in %s', async (_name, written) => {
    const { content, shown, restarts } = await repair({ content: [text(written)] })
    expect({ content, shown, restarts }).toEqual({
      content: [text(written)],
      shown: { text: written, thinking: '' },
      restarts: 0,
    })
  })

  it('is the same for any size of the deltas', async () => {
    const all = [...inline.map(([, written]) => written), ...plain.map(([, written]) => written)]
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...all), fc.integer({ min: 1, max: 30 }), async (written, size) => {
        const whole = await repair({ content: [text(written)] })
        const { content, shown } = await repair({ content: [text(written)], size })
        expect({ content, shown }).toEqual({ content: whole.content, shown: whole.shown })
      }),
      { numRuns: 300 },
    )
  })

  it('is taken back when it was shown as text', async () => {
    const { restarts } = await repair({ content: [text('First I look.\n</think>\n\nHello!')], size: 4 })
    expect(restarts).toBe(1)
  })

  it('stays beside thinking in a field of its own, and before calls', async () => {
    const { content } = await repair({ content: [thinking('x'), text('<think>a</think>b'), call('look')] })
    expect(content).toEqual([thinking('x'), thinking('a'), text('b'), call('look')])
  })

  it('is shown up to the point where the stream breaks', async () => {
    const broken: Dialect = {
      call: (_request, _endpoint, { onDelta }) => {
        onDelta({ of: 'text', text: 'one </' })
        return Promise.reject(new Error('lost'))
      },
    }
    let shown = ''
    const calling = repairReplies(broken).call({ tools: [] } as unknown as ModelRequest, {} as never, {
      signal: new AbortController().signal,
      onDelta: ({ text: words }) => void (shown += words),
      onActivity: () => undefined,
      sleep: () => Promise.resolve(),
    })
    await expect(calling).rejects.toThrow('lost')
    expect(shown).toBe('one </')
  })

  it('is read in linear time', async () => {
    for (const piece of ['</think', ' ', '<think>', '`', '</think> ']) {
      const written = `a${piece.repeat(200_000 / piece.length)}`
      expect((await repair({ content: [text(written)], size: 5_000 })).shown.text).toBe(written)
    }
  })
})

describe('the name of a called tool', () => {
  it.each([
    ['functions.terminal', 'terminal'],
    ['functions.terminal:0', 'terminal'],
    ['functions_terminal', 'terminal'],
    ['to=functions.terminal', 'terminal'],
    ['<function=terminal>', 'terminal'],
    ['"terminal"', 'terminal'],
    ['terminal()', 'terminal'],
    ['terminal:12', 'terminal'],
    ['default_api.terminal', 'terminal'],
    ['tools/terminal', 'terminal'],
    ['terminal<|channel|>commentary', 'terminal'],
    [' terminal', 'terminal'],
    ['functions.other', 'functions.other'],
    ['tools.list', 'tools.list'],
    ['list', 'list'],
    ['my_functions.terminal', 'my_functions.terminal'],
  ])('%s is %s', async (name, expected) => {
    const { content } = await repair({ content: [call(name)], tools: ['terminal', 'tools.list'] })
    expect(content).toEqual([call(expected)])
  })
})
