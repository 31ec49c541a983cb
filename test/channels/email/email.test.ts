import { describe, expect, it } from 'vitest'
import type { OutboundEmail } from '#channels/channel.ts'
import { email } from '#channels/email/email.ts'
import { stripQuotedReply, textOfHtml } from '#channels/email/email-text.ts'

const receivedAt = 1_800_000_000_000

function createConnection(sendEmail?: (mail: OutboundEmail) => Promise<void>) {
  const sent: OutboundEmail[] = []
  const record = async (mail: OutboundEmail) => void sent.push(mail)
  const connection = {
    apiBase: email.apiBase.url,
    secrets: {},
    webhookUrl: 'https://t.test/webhooks/email/ch_1',
    ownAddress: 'Agent@talaria.test',
    fetchForeign: () => Promise.reject(new Error('not used')),
    sendEmail: sendEmail ?? record,
  }
  return { sent, connection }
}

const passed =
  'mx.cloudflare.net; dkim=pass header.d=x.test; dmarc=pass header.from=x.test policy.dmarc=reject; spf=pass'
const baseHeaders = {
  'Authentication-Results': passed,
  From: 'Anna <Anna@x.test>',
  To: 'agent@talaria.test',
  Subject: 'A question',
  'Message-ID': '<1@x.test>',
}

async function receive(headers: Record<string, string | undefined>, body = 'hi', envelope = 'anna@x.test') {
  const lines = Object.entries({ ...baseHeaders, ...headers }).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}: ${value}`,
  )
  const raw = new TextEncoder().encode(`${lines.join('\r\n')}\r\n\r\n${body}`)
  const request = {
    method: 'EMAIL',
    url: new URL('https://t.test/'),
    headers: new Headers({ 'x-envelope-from': envelope, 'x-envelope-to': 'agent@talaria.test' }),
    body: raw,
    receivedAt,
  }
  return (await email.receive(request, createConnection().connection)).events
}

describe('email: receive', () => {
  it('begins a conversation with the subject and the text', async () => {
    expect(await receive({})).toEqual([
      {
        kind: 'message',
        key: '<1@x.test>',
        address: { chat: 'anna@x.test', thread: '<1@x.test>' },
        isGroup: false,
        sender: { id: 'anna@x.test', name: 'Anna' },
        messageId: '<1@x.test>',
        text: 'Subject: A question\n\nhi',
        media: [],
        mentions: [],
        replyHandle: {
          token: JSON.stringify({ subject: 'A question', messageId: '<1@x.test>', references: '<1@x.test>' }),
          expiresAt: receivedAt + 90 * 86_400_000,
        },
      },
    ])
  })

  it('continues the conversation of its references, without the quoted mail', async () => {
    const headers = { 'Message-ID': '<3@x.test>', 'In-Reply-To': '<2@t.test>', References: '<1@x.test> <2@t.test>' }
    const [event] = await receive(headers, 'yes\r\n\r\nOn Mon, Agent wrote:\r\n> A long answer\r\n> of two lines\r\n')
    expect(event).toMatchObject({ address: { thread: '<1@x.test>' }, text: 'yes', quote: { messageId: '<2@t.test>' } })
    expect(JSON.parse(event?.replyHandle?.token ?? '')).toMatchObject({
      references: '<1@x.test> <2@t.test> <3@x.test>',
    })
  })

  it.each([
    ['in quotes', '"boss@corp.test" <anna@x.test>'],
    ['without quotes', 'boss@corp.test <anna@x.test>'],
    ['in encoded words', '=?utf-8?Q?boss=40corp.test?= <anna@x.test>'],
    ['as a comment', '(boss@corp.test) anna@x.test'],
  ])('does not name a sender by another address %s', async (_name, From) => {
    const [event] = await receive({ From, 'Reply-To': 'boss@corp.test', Sender: 'boss@corp.test' })
    const address = { chat: 'anna@x.test' }
    expect(event).toMatchObject({ sender: { id: 'anna@x.test', name: 'anna@x.test' }, address })
  })

  it('takes letters that only look alike for other addresses', async () => {
    const [event] = await receive({ From: 'mar\u212a@x.test' })
    expect(event).toMatchObject({ sender: { id: 'mar\u212a@x.test' } })
  })

  it('passes a command on without the subject', async () => {
    expect(await receive({}, '/status')).toEqual([expect.objectContaining({ text: '/status' })])
  })

  it('reads a mail that is only HTML', async () => {
    const html =
      '<html><head><style>p{}</style></head><body><p>Hello &amp; <b>you</b></p><div>a<br>b</div></body></html>'
    const [event] = await receive({ 'Content-Type': 'text/html', Subject: '' }, html)
    expect(event).toMatchObject({ text: 'Hello & you\na\nb' })
  })

  it('carries pictures and documents, without logos and signatures', async () => {
    const part = (type: string, more: string, content: string) =>
      `--b\r\nContent-Type: ${type}\r\n${more}Content-Transfer-Encoding: base64\r\n\r\n${btoa(content)}\r\n`
    const attached = (name: string) => `Content-Disposition: attachment; filename="${name}"\r\n`
    const inside = (id: string) => `Content-ID: <${id}>\r\nContent-Disposition: inline\r\n`
    const related = `--b\r\nContent-Type: multipart/related; boundary=c\r\n\r\n${[
      '--b\r\nContent-Type: text/html\r\n\r\n<img src="cid:logo"><img src="cid:shot">\r\n',
      part('image/png', inside('logo'), 'small'),
      part('image/png', inside('shot'), 'x'.repeat(20_000)),
    ]
      .join('')
      .replaceAll('--b', '--c')}--c--\r\n`
    const body = [
      related,
      part('application/pdf', attached('a.pdf'), '%PDF'),
      part('image/jpeg', 'Content-Disposition: inline; filename=b.jpg\r\n', 'jpeg'),
      part('application/pkcs7-signature', attached('smime.p7s'), 'signed'),
    ]
    const [event] = await receive({ 'Content-Type': 'multipart/mixed; boundary=b' }, `${body.join('')}--b--`)
    expect(event).toMatchObject({
      text: 'Subject: A question',
      media: [
        { kind: 'image', reference: '0', isCarried: true, mime: 'image/png', bytes: 20_000 },
        { kind: 'document', reference: '1', isCarried: true, name: 'a.pdf', mime: 'application/pdf', bytes: 4 },
        { kind: 'image', reference: '2', isCarried: true, name: 'b.jpg', mime: 'image/jpeg', bytes: 4 },
      ],
    })
    const carried = event?.kind === 'message' ? (event.carried ?? []) : []
    expect(carried.map(({ reference, bytes }) => [reference, bytes.length])).toEqual([
      ['0', 20_000],
      ['1', 4],
      ['2', 4],
    ])
    expect(new TextDecoder().decode(carried[1]?.bytes)).toBe('%PDF')
  })

  it.each<[string, Record<string, string | undefined>, string?]>([
    ['an automatic answer', { 'Auto-Submitted': 'auto-replied' }],
    ['bulk mail', { Precedence: 'bulk' }],
    ['a mailing list', { 'List-Id': '<list.x.test>' }],
    ['a newsletter', { 'List-Unsubscribe': '<https://x.test/u>' }],
    ['an address that takes no answers', { From: 'No-Reply+1@x.test' }],
    ['a bounce', { From: 'MAILER-DAEMON@x.test' }],
    ['a bounce without a sender', {}, ''],
    ['its own mail', { From: 'agent@talaria.test' }],
    ['a sender whose name anybody may have written', { 'Authentication-Results': undefined }],
    [
      'a sender who is not whom the mail names',
      { 'Authentication-Results': passed.replace('dmarc=pass', 'dmarc=fail') },
    ],
    ['a pass for another domain', { From: 'boss@corp.test' }],
    ['a group', { From: 'Corp: anna@x.test;' }],
    ['an empty group before the sender', { From: 'undisclosed:;, anna@x.test' }],
    ['a route', { From: '<@x.test:boss@corp.test>' }],
    ['an address in encoded words', { From: '=?utf-8?Q?anna=40x.test?=' }],
    ['a comment within the address', { From: 'boss(@x.test)@corp.test' }],
    ['an address in quotes before the domain', { From: '"boss@corp.test"@x.test' }],
    ['an address behind the first', { From: '<anna@x.test> boss@corp.test' }],
    ['an address within another', { From: '<boss@corp.test <anna@x.test>>' }],
    ['a second header behind a bare return', { From: 'anna@x.test\rFrom: boss@corp.test' }],
    ['a folded list', { From: 'boss@corp.test,\r\n anna@x.test' }],
    [
      'a check that another header repeats',
      { 'Authentication-Results': undefined, 'ARC-Authentication-Results': `i=1; ${passed}` },
    ],
    [
      'a check in encoded words',
      { 'Authentication-Results': '=?utf-8?Q?mx.cloudflare.net?=; dmarc=pass header.from=x.test' },
    ],
    ['two senders', { From: 'anna@x.test\r\nFrom: boss@corp.test' }],
    ['two senders, the other first', { From: 'boss@corp.test\r\nFrom: anna@x.test' }],
    ['two addresses of one sender', { From: 'anna@x.test, boss@corp.test' }],
    ['two addresses in brackets', { From: 'Anna <anna@x.test> <boss@corp.test>' }],
    ['a group of senders', { From: 'us: anna@x.test, boss@corp.test;' }],
    ['an address in an address', { From: 'boss@corp.test@x.test' }],
    ['no sender', { From: undefined }],
    [
      'a check that the sender has written',
      { 'Authentication-Results': 'mx.cloudflare.net; dmarc=none\r\nAuthentication-Results: x; dmarc=pass' },
    ],
  ])('is silent to %s', async (_name, headers, envelope) => expect(await receive(headers, 'hi', envelope)).toEqual([]))

  it('refuses requests from outside', async () => {
    const request = {
      method: 'POST',
      url: new URL('https://t.test/'),
      headers: new Headers(),
      body: new Uint8Array(),
      receivedAt,
    }
    const { response, events } = await email.receive(request, createConnection().connection)
    expect([response?.status, await response?.text(), events]).toEqual([401, '', []])
  })

  it.each([
    ['a signature', 'text\n-- \nAnna', 'text'],
    ['a line that only looks like a quote', 'On Monday he wrote:\nnothing', 'On Monday he wrote:\nnothing'],
    ['an Outlook quote', 'text\n-----Original Message-----\nFrom: A\nSent: B', 'text'],
    ['a mail that is only a quote', '> a\n> b', '> a\n> b'],
    ['a German quote', 'ja\n\nAm 1. Mai schrieb Anna:\n> a', 'ja'],
  ])('reads %s', (_name, text, expected) => expect(stripQuotedReply(text)).toBe(expected))

  it('reads hostile HTML in linear time', () => {
    for (const part of ['<', '<p', '&', '<style>', '&#x110000;', '<p>'])
      expect(textOfHtml(part.repeat(50_000)).length).toBeLessThanOrEqual(part.length * 50_000)
  })
})

describe('email: send', () => {
  it('answers in the conversation, as text and HTML', async () => {
    const { sent, connection } = createConnection()
    const [event] = await receive({})
    const [chunk] = email.render('**Hi** [x](https://x.test/?a=1&b=2) <b>', 'markdown')
    const message = { address: event!.address, chunk: chunk!, replyHandle: event!.replyHandle! }
    expect(await email.send(connection, message, 'k')).toEqual({ kind: 'sent' })
    expect(sent).toEqual([
      {
        from: 'Agent@talaria.test',
        to: 'anna@x.test',
        subject: 'Re: A question',
        text: 'Hi x (https://x.test/?a=1&b=2) <b>',
        html: '<div><strong>Hi</strong> <a href="https://x.test/?a=1&amp;b=2" rel="noreferrer">x</a> &lt;b&gt;</div>',
        headers: { 'Auto-Submitted': 'auto-replied', 'In-Reply-To': '<1@x.test>', References: '<1@x.test>' },
        attachments: [],
      },
    ])
  })

  it('begins a conversation with the first line as its subject', async () => {
    const { sent, connection } = createConnection()
    const chunk = { text: 'The report\nis ready.', spans: [] }
    await email.send(connection, { address: { chat: 'anna@x.test' }, chunk }, 'k')
    expect(sent[0]).toMatchObject({ subject: 'The report', headers: { 'Auto-Submitted': 'auto-generated' } })
  })

  it('sends a file as an attachment', async () => {
    const { sent, connection } = createConnection()
    const file = { kind: 'document', name: 'a.txt', mime: 'text/plain', bytes: new Uint8Array(3) } as const
    await email.send(connection, { address: { chat: 'anna@x.test' }, chunk: { text: '', spans: [] }, file }, 'k')
    expect(sent[0]).toMatchObject({ subject: 'a.txt', text: 'a.txt', attachments: [file] })
    const marked = { text: 'This may be a duplicate.\n\n', spans: [] }
    await email.send(connection, { address: { chat: 'anna@x.test' }, chunk: marked, file }, 'k')
    expect(sent[1]).toMatchObject({ subject: 'a.txt', text: 'This may be a duplicate.\n\na.txt', attachments: [file] })
  })

  it.each([
    ['E_RATE_LIMIT_EXCEEDED', 'retry'],
    ['E_RECIPIENT_NOT_ALLOWED', 'forbidden'],
    ['E_CONTENT_TOO_LARGE', 'too_long'],
    ['E_VALIDATION_ERROR', 'fatal'],
  ])('classifies %s', async (code, kind) => {
    const { connection } = createConnection(() => Promise.reject(Object.assign(new Error('refused'), { code })))
    const outcome = await email.send(
      connection,
      { address: { chat: 'a@x.test' }, chunk: { text: 'x', spans: [] } },
      'k',
    )
    expect(outcome).toMatchObject({ kind })
  })

  it('cannot send without the binding or the address', async () => {
    const { sendEmail: _none, ...connection } = createConnection().connection
    expect(
      (await email.send(connection, { address: { chat: 'a@x.test' }, chunk: { text: 'x', spans: [] } }, 'k')).kind,
    ).toBe('forbidden')
    expect(await email.getAccount(connection)).toEqual({ refused: expect.stringContaining('EMAIL') })
    expect(await email.getAccount(createConnection().connection)).toEqual({
      id: 'agent@talaria.test',
      name: 'Agent@talaria.test',
    })
  })
})
