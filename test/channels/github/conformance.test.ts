import { describe, expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { github } from '#channels/github/github.ts'
import { findMentions } from '#channels/github/parse-event.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import { createGithubApi, createGithubApp, githubError, githubKeyPkcs8, signGithub } from '../../support/github-api.ts'
import type { Override } from '../../support/json-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/github/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => githubError(403, 'You have exceeded a secondary rate limit.', [], { 'retry-after': '2' }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => githubError(403, 'Resource not accessible by integration'),
  'too-long': () =>
    githubError(422, 'Validation Failed', [{ message: 'body is too long (maximum is 65536 characters)' }]),
  format: () => githubError(422, 'Validation Failed'),
  window: () => githubError(422, 'Validation Failed'),
}

function connectionOf({ api, secrets }: { readonly api: object; readonly secrets: Readonly<Record<string, string>> }) {
  const connection: ChannelConnection = { apiBase: 'https://github.test', secrets, webhookUrl, fetchForeign }
  return { api, connection }
}

const anna = { login: 'Anna', id: 7, type: 'User' }
const own = { login: 'Talaria-Bot', id: 1, type: 'User' }
const issue = {
  number: 12,
  id: 1200,
  title: 'It breaks',
  body: 'The body of a stranger.',
  state: 'open',
  user: { login: 'stranger' },
  html_url: 'https://github.com/acme/shop/issues/12',
  updated_at: '2027-01-01T00:00:00Z',
}
const pull = { ...issue, head: { label: 'anna:fix' }, base: { label: 'acme:main' } }
const bodyOf = (more: object) => JSON.stringify({ repository: { full_name: 'Acme/Shop' }, sender: anna, ...more })
const comment = { id: 77, body: 'hi @talaria-bot', user: anna, updated_at: '2027-01-01T00:00:01Z' }
const onLine = { ...comment, path: 'a.ts', line: 3, diff_hunk: '@@ -1 +1 @@\n+a', in_reply_to_id: 500 }

function createFixture(account: ReturnType<typeof createGithubApi>) {
  const { connection } = connectionOf(account)
  const { api } = account
  return {
    channel: github,
    connection,
    other: { ...connection, secrets: { ...connection.secrets, webhook_secret: 'another-secret-of-16' } },
    maxEventsPerRequest: 1,
    signs: { body: true, time: false },
    chats: { direct: { chat: 'acme/shop', thread: '12' }, group: { chat: 'acme/shop', thread: '12' } },
    isAlwaysGroup: true as const,
    person: { id: 'anna', name: 'Anna' },
    unknownFailures: ['format', 'window'] as const,
    targets: { known: { chat: 'acme/shop', thread: '12' }, unknown: { chat: 'acme/shop', thread: '13' } },
    encodeMessages: (messages: readonly { readonly id: string; readonly text: string }[]) =>
      bodyOf({
        action: 'created',
        issue,
        comment: { ...comment, id: Number(messages[0]?.id), body: messages[0]?.text },
      }),
    sign: (body: Uint8Array, { secrets }: ChannelConnection) => signGithub(body, secrets['webhook_secret'] ?? ''),
    handshakes: [],
    api: { failNext: (failure: ApiFailure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
}

testChannel(() => ({
  ...createFixture(createGithubApi()),
  samples: [
    {
      name: 'a comment on an issue, with the issue as background',
      body: bodyOf({ action: 'created', issue, comment }),
      event: {
        kind: 'message',
        key: 'c77',
        messageId: 'c77',
        address: { chat: 'acme/shop', thread: '12' },
        isGroup: true,
        isPublic: true,
        text: 'hi @talaria-bot',
        mentions: ['talaria-bot'],
        background: [
          {
            text: 'Issue #12 of Acme/Shop: It breaks\nhttps://github.com/acme/shop/issues/12\nopen, by stranger\nThe body of a stranger.',
            isOfChat: true,
          },
        ],
      },
    },
    {
      name: 'a comment on a line of a change',
      body: bodyOf({ action: 'created', pull_request: pull, comment: onLine }),
      event: {
        key: 'r77',
        messageId: 'r500-77',
        background: [
          expect.objectContaining({ text: expect.stringContaining('Branches: anna:fix into acme:main') }),
          { text: 'Lines of a.ts, to line 3:\n@@ -1 +1 @@\n+a' },
        ],
      },
    },
    {
      name: 'a review',
      body: bodyOf({ action: 'submitted', pull_request: pull, review: { id: 9, body: '@talaria-bot fix it' } }),
      event: { key: 'v9', text: '@talaria-bot fix it', mentions: ['talaria-bot'] },
    },
    {
      name: 'an issue that was opened',
      body: bodyOf({ action: 'opened', issue: { ...issue, body: '@talaria-bot please' } }),
      event: { key: 'i12:1200', text: 'It breaks\n\n@talaria-bot please', mentions: ['talaria-bot'] },
    },
    {
      name: 'an issue that was assigned to the agent',
      body: bodyOf({ action: 'assigned', issue, assignee: own }),
      event: { text: '[This is assigned to you.]', mentions: ['talaria-bot'] },
    },
    {
      name: 'a review that the agent was asked for',
      body: bodyOf({ action: 'review_requested', pull_request: pull, requested_reviewer: own }),
      event: { text: '[You are asked to review this.]', mentions: ['talaria-bot'] },
    },
    {
      name: 'a comment that its author changed',
      body: bodyOf({ action: 'edited', issue, comment }),
      event: { kind: 'edit', key: 'c77:2027-01-01T00:00:01Z', messageId: 'c77' },
    },
    {
      name: 'a comment of another program',
      body: bodyOf({ action: 'created', issue, comment, sender: { login: 'dependabot[bot]', type: 'Bot' } }),
      event: { sender: { id: 'dependabot[bot]', name: 'dependabot[bot]', isBot: true } },
    },
    {
      name: 'a form',
      body: `payload=${encodeURIComponent(bodyOf({ action: 'created', issue, comment }))}`,
      event: { key: 'c77' },
    },
  ],
  ignored: [
    { name: 'its own comment', body: bodyOf({ action: 'created', issue, comment, sender: own }) },
    {
      name: 'a comment that somebody else changed',
      body: bodyOf({ action: 'edited', issue, comment, sender: { ...anna, login: 'Eve' } }),
    },
    { name: 'a comment that was deleted', body: bodyOf({ action: 'deleted', issue, comment }) },
    {
      name: 'an issue that was assigned to somebody else',
      body: bodyOf({ action: 'assigned', issue, assignee: anna }),
    },
    {
      name: 'a review without words',
      body: bodyOf({ action: 'submitted', pull_request: pull, review: { id: 9, body: null } }),
    },
    { name: 'the first call', body: bodyOf({ zen: 'x', hook: {} }) },
  ],
}))

describe('an app', () => {
  it('asks for one token for the installation, and writes into the thread of the lines', async () => {
    const { api, secrets } = createGithubApp()
    const { connection } = connectionOf({ api, secrets })
    const message = { address: { chat: 'acme/shop', thread: '12' }, chunk: { text: 'done', spans: [] } }
    const reply = await github.send(connection, { ...message, replyToMessageId: 'r500-77' }, 'k1')
    const gone = await github.send(connection, { ...message, replyToMessageId: 'r501-78' }, 'k2')
    expect([reply, gone]).toEqual([
      { kind: 'sent', id: 'r101' },
      { kind: 'sent', id: 'c102' },
    ])
    expect([api.issued, api.calls.map(({ path }) => path).slice(-3)]).toEqual([
      1,
      [
        '/repos/acme/shop/pulls/12/comments/500/replies',
        '/repos/acme/shop/pulls/12/comments/501/replies',
        '/repos/acme/shop/issues/12/comments',
      ],
    ])
    const edited = await github.send(connection, { ...message, editedMessageId: 'r101' }, 'k3')
    expect(edited).toEqual({ kind: 'sent', id: 'r101' })
    expect(api.calls.at(-1)?.path).toBe('/repos/acme/shop/pulls/comments/101')
  })

  it('renews a refused token once, takes both forms of keys, and registers its webhook', async () => {
    const { api, secrets } = createGithubApp()
    const { connection } = connectionOf({ api, secrets: { ...secrets, private_key: githubKeyPkcs8 } })
    const message = { address: { chat: 'acme/shop', thread: '12' }, chunk: { text: 'x', spans: [] } }
    expect((await github.send(connection, message, 'k1')).kind).toBe('sent')
    api.token = 'revoked'
    expect((await github.send(connection, message, 'k2')).kind).toBe('sent')
    expect(api.issued).toBe(2)
    expect(await github.getAccount(connection)).toEqual({ id: 'talaria-app[bot]', name: 'talaria-app' })
    expect((await github.register?.(connection, true))?.ok).toBe(true)
    expect(api.hook).toEqual({ url: webhookUrl, content_type: 'json', secret: secrets.webhook_secret })
  })

  it('does not hear another installation, nor itself, and refuses a key that is none', async () => {
    const { api, secrets } = createGithubApp()
    const { connection } = connectionOf({ api, secrets })
    const eventsOf = async (more: object) => {
      const body = new TextEncoder().encode(bodyOf({ action: 'created', issue, comment, ...more }))
      const headers = new Headers(await signGithub(body, secrets.webhook_secret))
      const request = { method: 'POST', url: new URL(webhookUrl), headers, body, receivedAt: 0 }
      return (await github.receive(request, connection)).events.length
    }
    const installation = { id: Number(secrets.installation_id) }
    expect([
      await eventsOf({ installation }),
      await eventsOf({ installation: { id: 1 } }),
      await eventsOf({}),
      await eventsOf({ installation, sender: { login: 'talaria-app[bot]', type: 'Bot' } }),
    ]).toEqual([1, 0, 0, 0])
    const broken = { ...connection, secrets: { ...secrets, private_key: 'no key' } }
    const message = { address: { chat: 'acme/shop', thread: '12' }, chunk: { text: 'x', spans: [] } }
    expect((await github.send(broken, message, 'k')).kind).toBe('forbidden')
  })
})

it.each([
  ['@Bot do it', ['bot']],
  ['cc @a-b, @c.', ['a-b', 'c']],
  ['> @quoted\n`@code` and\n```\n@block\n```\nthen @real', ['real']],
  ['mail a@b.example, team @acme/dev, path x/@y', []],
])('finds the mentions of %j', (text, expected) => {
  expect(findMentions(text)).toEqual(expected)
})
