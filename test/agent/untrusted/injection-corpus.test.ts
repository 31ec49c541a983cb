/** Measures the scan on texts of both kinds: hostile ones in twenty languages, and harmless ones that use the same words. */

import { describe, expect, it } from 'vitest'
import { blockFindings, scan, type Strictness } from '#agent/untrusted/injection-scan.ts'
import harmless from './harmless.json'
import hostile from './hostile.json'

const kindsOf = (text: string, strictness: Strictness) => scan(text, strictness).map(({ kind }) => kind)

describe('hostile texts', () => {
  it.each(hostile.directives)('finds $kind in files and in memory: $text', ({ kind, text }) => {
    expect(kindsOf(text, 'strict')).toContain(kind)
    expect(kindsOf(text, 'context')).toContain(kind)
  })

  it.each(hostile.shapes)('finds $kind in memory: $text', ({ kind, text }) => {
    expect(kindsOf(text, 'strict')).toContain(kind)
  })

  it.each(hostile.directives)('finds $kind within a long file: $text', ({ kind, text }) => {
    const file = `# Notes\n\nUse tabs.\n\n${text}\n\nRun the tests.\n`
    expect(kindsOf(file, 'context')).toContain(kind)
    const blocked = blockFindings(file)
    expect(blocked).toContain(`[blocked: ${kind}`)
    expect(blocked.split('\n')).toEqual(expect.arrayContaining(['# Notes', 'Use tabs.', 'Run the tests.']))
    expect(kindsOf(blocked, 'context').filter((found) => found === kind)).toEqual([])
  })
})

describe('harmless texts', () => {
  it.each(['strict', 'context'] as const)('at most 2 % are refused at the strictness %s', (strictness) => {
    const refused = harmless[strictness].filter((text) => scan(text, strictness).length > 0)
    expect(harmless.strict.length + harmless.context.length).toBeGreaterThan(150)
    expect(refused.length / harmless[strictness].length, refused.join('\n')).toBeLessThanOrEqual(0.02)
  })
})
