import { describe, expect, it } from 'vitest'
import { assemblePrompt } from '#agent/prompt/assemble.ts'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import { createLayer, type LayerName } from '#agent/prompt/layers.ts'

describe('assemblePrompt()', () => {
  const shuffled: readonly LayerName[] = [
    'date',
    'user',
    'workspace',
    'identity',
    'skills',
    'memory',
    'model',
    'personality',
    'behaviour',
    'tools',
    'instructions',
    'environment',
    'platform',
  ]

  it('orders layers by the list, whatever the order of the parts', () => {
    const { layers } = assemblePrompt(shuffled.map((name) => createLayer(name, `Text of ${name}.`)))
    expect(layers.map(({ name, tier }) => `${tier} ${name}`)).toEqual([
      'stable identity',
      'stable platform',
      'stable environment',
      'stable tools',
      'stable model',
      'stable behaviour',
      'stable skills',
      'context personality',
      'context instructions',
      'context workspace',
      'volatile memory',
      'volatile user',
      'volatile date',
    ])
  })

  it('begins with the same bytes when only volatile layers differ', () => {
    const textOf = (memory: string) =>
      assemblePrompt([createLayer('memory', memory), createLayer('identity', 'I.'), createLayer('tools', 'T.')]).text
    expect([textOf('a'), textOf('b')].map((text) => text.slice(0, -1))).toEqual(['I.\n\nT.\n\n', 'I.\n\nT.\n\n'])
  })

  it.each([
    ['nothing', [], ''],
    ['blank layers', [createLayer('tools', ' \n'), createLayer('identity', '')], ''],
    ['untrimmed layers', [createLayer('tools', '\n Act. '), createLayer('identity', ' I.\n')], 'I.\n\nAct.'],
    ['layers of one name', [createLayer('user', 'a'), createLayer('user', 'b')], 'a\n\nb'],
  ])('assembles %s', (_case, layers, text) => {
    expect(assemblePrompt(layers).text).toBe(text)
  })

  it('keeps a layer within its budget and reports it', () => {
    const text = 'A sentence of a long memory. '.repeat(1_000)
    const assembled = assemblePrompt([createLayer('memory', text, { budget: 200 }), createLayer('date', 'Today.')])
    expect(assembled.layers.map(({ isTruncated }) => isTruncated)).toEqual([true, false])
    expect(assembled.layers[0]?.tokens).toBeLessThanOrEqual(200)
    expect(estimateTokens(assembled.text)).toBeLessThan(210)
    expect(assembled.text).toMatch(/memory: \d+ of \d+ characters left out here/)
  })

  it('keeps the mark of a layer that was shortened before', () => {
    const [size] = assemblePrompt([createLayer('workspace', 'short', { isTruncated: true })]).layers
    expect(size?.isTruncated).toBe(true)
  })
})
