import { describe, expect, it } from 'vitest'
import {
  builtInPersonalities,
  findPersonality,
  listPersonalities,
  renderPersonality,
} from '#agent/prompt/personalities.ts'
import { scan } from '#agent/untrusted/injection-scan.ts'

describe('personalities', () => {
  it('has a dozen built in, each with a text of its own that passes the scan', () => {
    expect(builtInPersonalities.length).toBeGreaterThanOrEqual(12)
    const texts = builtInPersonalities.map((name) => findPersonality(name) ?? '')
    expect(new Set(texts).size).toBe(texts.length)
    for (const text of texts) expect([text, scan(text, 'strict')]).toEqual([text, []])
  })

  it.each([
    ['pirate', {}, /captain/],
    ['butler', { butler: 'You are a butler.' }, /butler/],
    ['pirate', { pirate: 'You are another pirate.' }, /another/],
  ])('finds %s', (name, own, text) => {
    expect(findPersonality(name, own)).toMatch(text)
  })

  it.each(['none', 'nobody', 'constructor', ''])('finds none for %j', (name) => {
    expect(findPersonality(name)).toBeUndefined()
  })

  it('lists the built-in ones and those of the tenant once each', () => {
    const names = listPersonalities({ butler: 'b', pirate: 'p' })
    expect(names).toEqual([...new Set([...builtInPersonalities, 'butler'])].toSorted())
  })

  it('is limited to the manner of speaking', () => {
    expect(renderPersonality('You are a butler.')).toMatch(/manner of speaking[^]*You are a butler\./)
  })
})
