import { describe, expect, it } from 'vitest'
import { fileForm } from '#channels/telegram/telegram.ts'
import { telegram } from '#channels/telegram/telegram.ts'

describe('telegram', () => {
  it('renders Markdown as text with styles', () => {
    const chunks = telegram.render(`**bold** ${'😀 word '.repeat(2_000)}`, 'markdown')
    expect(chunks.length).toBeGreaterThan(3)
    expect(chunks[0]?.spans).toEqual([{ type: 'bold', offset: 0, length: 4 }])
  })

  it('shows the text of a file as its caption, as for a file that may arrive twice', () => {
    const file = { kind: 'image', name: 'a.png', mime: 'image/png', bytes: new Uint8Array(3) } as const
    const formOf = (text: string) =>
      fileForm({ address: { chat: '11', thread: '4' }, chunk: { text, spans: [] }, file }, file)
    const { method, form } = formOf('This may be a duplicate.\n\n')
    expect([method, form.get('caption'), form.get('message_thread_id')]).toEqual([
      'sendPhoto',
      'This may be a duplicate.',
      '4',
    ])
    expect(formOf('').form.has('caption')).toBe(false)
  })
})
