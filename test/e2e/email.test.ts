/** Tests email with a real server: a mail arrives at the email handler, and the answer leaves by the binding EMAIL. */

import { randomUUID } from 'node:crypto'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { lines, pdfWith } from '#test/backends/support/pdf.ts'
import { eventually } from './support/client.ts'
import { createTenant, owner, server } from './support/here.ts'

type SentMail = {
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly html: string
  readonly attachments?: readonly { readonly filename: string; readonly type: string; readonly content: string }[]
}

/** `wrangler dev` records what a binding sends in a database of its own, below its folder for temporary files. */
function listSentTo(address: string): readonly SentMail[] {
  return globSync(join(server.temporary, 'miniflare-*/email-store/**/*.sqlite')).flatMap((path) => {
    try {
      const store = new DatabaseSync(path, { readOnly: true })
      const rows = store.prepare("SELECT data FROM emails WHERE kind = 'sent' ORDER BY seq").all()
      store.close()
      return rows.map(({ data }) => JSON.parse(String(data)) as SentMail).filter(({ to }) => to.includes(address))
    } catch {
      // A store that is just beginning.
      return []
    }
  })
}

async function deliver(from: string, to: string, headers: Readonly<Record<string, string>>, text: string) {
  const all = {
    'Authentication-Results': 'mx.cloudflare.net; dmarc=pass header.from=x.test',
    From: `Anna <${from}>`,
    To: to,
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const url = `${server.url}/cdn-cgi/local/email?from=${from}&to=${to}`
  return fetch(url, { method: 'POST', body: `${lines.join('')}\r\n${text}` })
}

it('answers mails in their conversation, as text and HTML, marked as an automatic answer', async () => {
  const id = randomUUID().slice(0, 8)
  const [person, address] = [`anna-${id}@x.test`, `agent-${id}@t.test`]
  const { id: tenantId, client: tenant } = await createTenant()
  await owner.send('PATCH', `/api/admin/tenants/${tenantId}`, { body: { mail: ['@t.test'] } })
  const settings = { address, allow_users: [person] }
  expect((await tenant.post('/api/channels', { platform: 'email', settings })).status).toBe(201)
  const [first, second] = [`<1-${id}@x.test>`, `<2-${id}@x.test>`]
  const subject = { Subject: 'A question' }
  expect((await deliver(person, address, { ...subject, 'Message-ID': first }, '[[say **One** & more]]')).status).toBe(
    200,
  )
  await eventually(
    () => listSentTo(person).length,
    (count) => count === 1,
    30_000,
  )
  const thread = { 'Message-ID': second, 'In-Reply-To': first, References: first }
  // The second delivery of a mail changes nothing.
  for (let times = 0; times < 2; times++)
    await deliver(person, address, { ...subject, ...thread }, '[[say Two]]\r\n\r\nOn Monday, Agent wrote:\r\n> One')
  await eventually(
    () => listSentTo(person).length,
    (count) => count === 2,
    30_000,
  )
  const mail = { from: address, to: [person], subject: 'Re: A question' }
  const answers = { 'Auto-Submitted': 'auto-replied' }
  expect(listSentTo(person)).toEqual([
    expect.objectContaining({
      ...mail,
      text: 'One & more',
      html: expect.stringContaining('<strong>One</strong> &amp; more'),
      headers: { ...answers, 'In-Reply-To': first, References: first },
    }),
    expect.objectContaining({
      ...mail,
      text: 'Two',
      headers: { ...answers, 'In-Reply-To': second, References: `${first} ${second}` },
    }),
  ])
  const { json } = await tenant.get('/api/sessions')
  expect(json.data).toHaveLength(1)
})

it('reads the files of a mail, and answers with files', async () => {
  const id = randomUUID().slice(0, 8)
  const [person, address] = [`bert-${id}@x.test`, `files-${id}@t.test`]
  const { id: tenantId, client: tenant } = await createTenant()
  await owner.send('PATCH', `/api/admin/tenants/${tenantId}`, { body: { mail: ['@t.test'] } })
  const settings = { address, allow_users: [person] }
  expect((await tenant.post('/api/channels', { platform: 'email', settings })).status).toBe(201)
  const made = '[[call write_file {"path":"sum.csv","content":"c,3"} then say Here: MEDIA:sum.csv]]'
  const csv = `--b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename="in.csv"\r\n\r\na,b\r\n`
  const pdf = Buffer.from(await pdfWith([lines('Annual report')]))
    .toString('base64')
    .replace(/(.{76})/g, '$1\r\n')
  const report = `--b\r\nContent-Type: application/pdf; name="r.pdf"\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename="r.pdf"\r\n\r\n${pdf}\r\n`
  const headers = { 'Message-ID': `<1-${id}@x.test>`, 'Content-Type': 'multipart/mixed; boundary=b' }
  const answer = await deliver(person, address, headers, `--b\r\n\r\n${made}\r\n${csv}${report}--b--`)
  expect(answer.status).toBe(200)
  await eventually(
    () => listSentTo(person).length,
    (count) => count === 2,
    30_000,
  )
  expect(
    listSentTo(person).map(({ text, attachments }) => [text, attachments?.map(({ filename }) => filename)]),
  ).toEqual([
    ['Here:', []],
    ['sum.csv', ['sum.csv']],
  ])
  const { json } = await tenant.get('/api/sessions')
  const [{ id: session }] = json.data
  const { json: messages } = await tenant.get(`/api/sessions/${session}/messages`)
  expect(JSON.stringify(messages.data[0])).toMatch(
    /in\.csv \(text\/csv\).*a,b.*r\.pdf \(application\/pdf\).*Annual report/,
  )
})
