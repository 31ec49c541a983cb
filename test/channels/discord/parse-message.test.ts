import { describe, expect, it } from 'vitest'
import { parseGatewayRequest } from '#channels/discord/parse-message.ts'

const author = { id: '7', username: 'ada' }
const parse = (fields: object) => {
  const data = { id: '1', channel_id: '5', author, ...fields }
  const [event] = parseGatewayRequest(
    new TextEncoder().encode(JSON.stringify({ type: 'MESSAGE_CREATE', data, bots: ['99'] })),
  )
  return event as { readonly text?: string; readonly media?: readonly object[]; readonly quote?: object } | undefined
}
const attachment = { id: 'a', url: 'https://cdn.example/a.png', content_type: 'image/png' }
const embed = { type: 'rich', title: 'Alert', description: 'disk full', fields: [{ name: 'host', value: 'db1' }] }
const snapshot = (message: object) => ({
  message_reference: { type: 1 },
  message_snapshots: [{ message: { type: 0, ...message } }],
})

describe('the text of a message of Discord', () => {
  it.each([
    [
      'a forwarded message',
      { content: '', flags: 16_384, ...snapshot({ content: 'the forwarded words', attachments: [], embeds: [] }) },
      '[Forwarded:]\nthe forwarded words',
    ],
    ['a comment before it', { content: 'look', ...snapshot({ content: 'words' }) }, 'look\n[Forwarded:]\nwords'],
    ['a forwarded embed', snapshot({ content: '', embeds: [embed] }), '[Forwarded:]\nAlert\ndisk full\nhost: db1'],
    ['an embed alone', { content: '', embeds: [embed] }, 'Alert\ndisk full\nhost: db1'],
    [
      'no preview of a link',
      { content: 'https://a.example/', embeds: [{ ...embed, url: 'https://a.example/' }] },
      'https://a.example/',
    ],
    ['a sticker', { content: '', sticker_items: [{ id: '1', name: 'Wave', format_type: 1 }] }, '[sticker: Wave]'],
    [
      'a poll',
      {
        content: '',
        poll: {
          question: { text: 'When?' },
          answers: [{ poll_media: { text: 'now' } }, { poll_media: { text: 'later' } }],
        },
      },
      '[poll: When?, now, later]',
    ],
    ['a text alone', { content: 'hi' }, 'hi'],
  ])('has %s', (_name, fields, expected) => {
    expect(parse(fields)?.text).toBe(expected)
  })

  it('has the files of a forwarded message', () => {
    expect(parse({ content: '', ...snapshot({ content: '', attachments: [attachment] }) })?.media).toMatchObject([
      { reference: attachment.url },
    ])
  })

  it('quotes a forwarded message', () => {
    const referenced_message = { id: '3', author, content: '', ...snapshot({ content: 'words' }) }
    expect(parse({ content: 'and this?', referenced_message })?.quote).toMatchObject({ text: '[Forwarded:]\nwords' })
  })

  it('is missing without any content', () => {
    expect(parse({ content: '' })).toBe(undefined)
    expect(parse({ content: '', embeds: [{ type: 'image' }] })).toBe(undefined)
  })
})
