import { describe, expect, it } from 'vitest'
import { telegram } from '../../../src/channels/telegram/telegram.ts'

describe('telegram', () => {
  it('renders Markdown as text with styles', () => {
    const chunks = telegram.render(`**bold** ${'😀 word '.repeat(2_000)}`, 'markdown')
    expect(chunks.length).toBeGreaterThan(3)
    expect(chunks[0]?.spans).toEqual([{ type: 'bold', offset: 0, length: 4 }])
  })
})
