import { describe, expect, it } from 'vitest'
import { parseCallback } from '#channels/slack/parse-event.ts'

const parse = (fields: object) => {
  const event = { type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', ts: '1.1', text: '', ...fields }
  const parsed = parseCallback({ type: 'event_callback', team_id: 'T', event, authorizations: [{ user_id: 'UBOT' }] })
  return parsed as
    | { readonly text?: string; readonly media?: readonly object[]; readonly mentions?: readonly string[] }
    | undefined
}
const share = { is_share: true, author_name: 'Al', text: 'the shared words', fallback: 'fallback' }
const richText = (...elements: readonly object[]) => [
  { type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] },
]

describe('the text of a message of Slack', () => {
  it.each([
    ['a shared message', { attachments: [share] }, '[Forwarded from Al:]\nthe shared words'],
    ['a comment before it', { text: 'look', attachments: [share] }, 'look\n[Forwarded from Al:]\nthe shared words'],
    [
      'a shared message without text',
      {
        attachments: [
          { is_share: true, message_blocks: [{ message: { blocks: richText({ type: 'text', text: 'inside' }) } }] },
        ],
      },
      '[Forwarded:]\ninside',
    ],
    [
      'text that is only in blocks',
      {
        blocks: richText(
          { type: 'text', text: 'only in ' },
          { type: 'link', url: 'https://a.example/', text: 'blocks' },
        ),
      },
      'only in blocks (https://a.example/)',
    ],
    ['signs of blocks as they are', { blocks: richText({ type: 'text', text: 'a < b && <c>' }) }, 'a < b && <c>'],
    [
      'an alert in blocks',
      {
        blocks: [
          { type: 'header', text: { type: 'plain_text', text: 'Disk full' } },
          {
            type: 'section',
            text: { type: 'mrkdwn', text: 'on *db1*' },
            fields: [{ type: 'mrkdwn', text: 'used: 99 %' }],
          },
          { type: 'context', elements: [{ type: 'mrkdwn', text: 'now' }] },
        ],
      },
      'Disk full\non *db1*\nused: 99 %\nnow',
    ],
    [
      'an alert in attachments',
      {
        attachments: [
          {
            pretext: 'Build',
            title: 'main',
            title_link: 'https://ci.example/',
            text: 'failed',
            fields: [{ title: 'step', value: 'test' }],
            fallback: 'x',
          },
        ],
      },
      'Build\nmain (https://ci.example/)\nfailed\nstep: test',
    ],
    ['the fallback of an attachment', { attachments: [{ fallback: 'only this' }] }, 'only this'],
    [
      'no preview of a link',
      {
        text: 'see <https://a.example/>',
        attachments: [{ from_url: 'https://a.example/', title: 'A', text: 'preview' }],
      },
      'see https://a.example/',
    ],
    ['blocks once, when there is a text', { text: 'hi', blocks: richText({ type: 'text', text: 'hi' }) }, 'hi'],
  ])('has %s', (_name, fields, expected) => {
    const shown = parse(fields)?.text
    // Links are rendered by the decoder of mrkdwn.
    expect(shown?.replaceAll(/\[([^\]]*)\]\((https[^)]*)\)/g, '$1 ($2)')).toBe(expected)
  })

  it('knows the mentions of blocks', () => {
    expect(
      parse({ blocks: richText({ type: 'user', user_id: 'UBOT' }, { type: 'text', text: ' hi' }) })?.mentions,
    ).toContain('UBOT')
  })

  it('has the files of a shared message', () => {
    const files = [{ id: 'F1', mimetype: 'image/png', url_private: 'https://files.example/F1' }]
    expect(parse({ attachments: [{ is_share: true, files }] })?.media).toMatchObject([
      { reference: 'https://files.example/F1' },
    ])
  })

  it('is missing without any content', () => {
    expect(parse({})).toBe(undefined)
    expect(parse({ attachments: [{}], blocks: [{ type: 'divider' }] })).toBe(undefined)
  })
})
