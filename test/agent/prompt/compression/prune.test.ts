import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callsIn, type Message, textIn } from '#agent/core/message.ts'
import { maxResultChars, pruneMessages, shortenTexts } from '#agent/prompt/compression/prune.ts'
import { asks, callsTool, returns } from './messages.ts'

const image = { type: 'image', mediaType: 'image/png', data: 'aGVsbG8=' } as const
const long = 'a long line of output\n'.repeat(40)

describe('an old result', () => {
  it('of up to 200 characters stays as it is', () => {
    const result = returns('1', 'x'.repeat(maxResultChars))
    expect(pruneMessages([callsTool('1'), result])[1]).toBe(result)
  })

  it('that is longer becomes one line with call, outcome and size', () => {
    const call = callsTool('1', { command: 'npm test', timeout: 60 }, 'terminal')
    const [, result] = pruneMessages([call, returns('1', long, 'terminal')])
    expect(textIn(result!)).toBe(
      '[terminal {"command":"npm test"} → ok, 40 lines, 880 characters; it began: ' +
        'a long line of output a long line of output a long…]',
    )
    expect(result).toMatchObject({ role: 'tool', callId: '1', name: 'terminal', failed: false })
  })

  it('that failed says so', () => {
    expect(textIn(pruneMessages([callsTool('1'), returns('1', long, 'read_file', true)])[1]!)).toContain('→ failed')
  })

  it('keeps what the user said while it ran', () => {
    const said = '[The user said, while this ran: leave the database alone]'
    const { content, ...rest } = returns('1', long)
    const [, result] = pruneMessages([callsTool('1'), { ...rest, content: [...content, { type: 'text', text: said }] }])
    expect(textIn(result!)).toContain(said)
    expect(textIn(result!).length).toBeLessThan(400)
  })

  it('loses its images, like a message of the user', () => {
    const pruned = pruneMessages([
      { role: 'user', content: [{ type: 'text', text: 'see' }, image] },
      callsTool('1'),
      { ...returns('1'), content: [image] },
    ])
    expect(JSON.stringify(pruned)).not.toContain(image.data)
    expect(textIn(pruned[0]!)).toBe('see[An image was left out.]')
    expect(textIn(pruned[2]!)).toContain('with an image')
  })
})

describe('CP7: long arguments of a call', () => {
  it('are shortened, and the input is still a JSON object with the same fields', () => {
    const input = { path: 'a.txt', content: 'y'.repeat(5_000), lines: [1, 'z'.repeat(900)], nested: { ok: true } }
    const [call] = pruneMessages([callsTool('1', input, 'write_file')])
    const [part] = callsIn(call as Extract<Message, { role: 'assistant' }>)
    const sent = JSON.parse(JSON.stringify(part?.input)) as typeof input
    expect(Object.keys(sent)).toEqual(Object.keys(input))
    expect(sent).toMatchObject({ path: 'a.txt', lines: [1, expect.stringMatching(/characters left out\]$/)] })
    expect(JSON.stringify(sent).length).toBeLessThan(800)
  })

  it('are never left as the invalid text that the model wrote', () => {
    const call = callsTool('1')
    const broken = { ...call, content: [{ ...callsIn(call)[0]!, raw: `{"path": "${'x'.repeat(900)}` }] }
    expect(callsIn(pruneMessages([broken])[0] as typeof call)[0]).not.toHaveProperty('raw')
  })

  it('are valid JSON whatever they contain, and stay the same object when they are short', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const short = shortenTexts(value)
        expect(() => JSON.parse(JSON.stringify(short)) as unknown).not.toThrow()
        expect(JSON.stringify(value).length >= 400 || short === value).toBe(true)
      }),
    )
  })
})

it('pruning twice changes nothing, so that a reloaded head has the same bytes', () => {
  const once = pruneMessages([asks('go'), callsTool('1', { code: 'c'.repeat(1_000) }), returns('1', long)])
  expect(pruneMessages(once)).toEqual(once)
})
