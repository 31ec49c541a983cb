/** Tests that a skill is offered to a repository on GitHub: what is sent, by whom, and what GitHub refuses. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { until } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newKey, newTenant } from './client.ts'

beforeAll(applyMigrations)
afterEach(() => void vi.restoreAllMocks())

const github = 'https://github.test'
const token = `ghp_${'Zz19'.repeat(9)}`
const content = '---\nname: release\ndescription: Makes a release.\n---\n\nRead the commits first.\n'

type Sent = { readonly method: string; readonly path: string; readonly body: Record<string, unknown> | undefined }
type Options = { readonly push?: boolean; readonly youngFork?: number; readonly fails?: Record<string, number> }

/** Answers as the REST API of GitHub documents it, for the repository acme/skills. */
function serveGithub({ push = true, youngFork = 0, fails = {} }: Options = {}) {
  const pass = globalThis.fetch
  const sent: Sent[] = []
  const refs = new Set<string>()
  const pulls: object[] = []
  let young = youngFork
  const answers: readonly (readonly [RegExp, (body: Record<string, unknown>) => readonly [number, unknown]])[] = [
    [
      /^GET \/repos\/acme\/skills$/,
      () => [
        200,
        { full_name: 'acme/skills', owner: { login: 'acme' }, default_branch: 'main', permissions: { push } },
      ],
    ],
    [/^GET \/repos\/acme\/skills\/git\/ref\/heads\/main$/, () => [200, { object: { sha: 'c0' } }]],
    [/^GET \/repos\/acme\/skills\/git\/commits\/c0$/, () => [200, { sha: 'c0', tree: { sha: 't0' } }]],
    [/^POST \/repos\/acme\/skills\/forks$/, () => [202, { full_name: 'bot/skills', owner: { login: 'bot' } }]],
    [/^POST \/repos\/\w+\/skills\/git\/blobs$/, () => (young-- > 0 ? [404, {}] : [201, { sha: `b${sent.length}` }])],
    [/^POST \/repos\/\w+\/skills\/git\/trees$/, () => [201, { sha: 't1' }]],
    [/^POST \/repos\/\w+\/skills\/git\/commits$/, () => [201, { sha: 'c1' }]],
    [
      /^POST \/repos\/\w+\/skills\/git\/refs$/,
      ({ ref }) => {
        if (refs.has(String(ref))) return [422, { message: 'Reference already exists' }]
        refs.add(String(ref))
        return [201, { ref }]
      },
    ],
    [/^PATCH \/repos\/\w+\/skills\/git\/refs\/heads\//, () => [200, {}]],
    [
      /^POST \/repos\/acme\/skills\/pulls$/,
      ({ head }) => {
        if (pulls.length) return [422, { message: 'Validation Failed' }]
        pulls.push({ number: 7, html_url: 'https://github.com/acme/skills/pull/7', head })
        return [201, pulls[0]]
      },
    ],
    [/^GET \/repos\/acme\/skills\/pulls\?state=open/, () => [200, pulls]],
  ]
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const asked = new Request(input, init)
    if (!asked.url.startsWith(`${github}/`)) return pass(asked)
    const path = asked.url.slice(github.length)
    const text = await asked.text()
    const body = text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>)
    sent.push({ method: asked.method, path, body })
    expect(asked.headers.get('authorization')).toBe(`Bearer ${token}`)
    const failing = fails[`${asked.method} ${path}`]
    if (failing !== undefined) return Response.json({ message: `Bad ${token}` }, { status: failing })
    const [status, answer] = answers.find(([pattern]) => pattern.test(`${asked.method} ${path}`))?.[1](body ?? {}) ?? [
      404,
      {},
    ]
    return Response.json(answer, { status })
  })
  return sent
}

type Published = ErrorBody & { readonly url: string; readonly number: number; readonly created: boolean }

async function setUp() {
  const { id: tenantId, key } = await newTenant()
  await call('POST', '/api/skills', { key, body: { name: 'release', content } })
  await call('PUT', '/api/skills/release/files/scripts/go.sh', { key, body: 'echo go\n' })
  await call('POST', '/api/secrets', { key, body: { name: 'GITHUB_TOKEN', value: token } })
  const publish = (body: object = {}, by = key) =>
    call<Published>('POST', '/api/skills/release/publish', { key: by, body: { repository: 'acme/skills', ...body } })
  return { tenantId, key, publish }
}

describe('a skill', () => {
  it('is offered as one commit on a branch, once for the same contents, and noted in the audit log', async () => {
    const { key, publish } = await setUp()
    const sent = serveGithub()
    const { status, body } = await publish()
    expect([status, body]).toEqual([201, { url: 'https://github.com/acme/skills/pull/7', number: 7, created: true }])
    const of = (end: string) => sent.filter(({ method, path }) => method === 'POST' && path.endsWith(end))
    expect(of('/git/blobs').map(({ body: blob }) => [atob(String(blob?.['content'])), blob?.['encoding']])).toEqual(
      expect.arrayContaining([
        [content, 'base64'],
        ['echo go\n', 'base64'],
      ]),
    )
    const entries = of('/git/trees')[0]!.body as { base_tree: string; tree: { path: string; mode: string }[] }
    expect([entries.base_tree, entries.tree.map(({ path, mode }) => `${mode} ${path}`).toSorted()]).toEqual([
      't0',
      ['100644 skills/release/SKILL.md', '100644 skills/release/scripts/go.sh'],
    ])
    expect(of('/git/commits')[0]?.body).toMatchObject({ tree: 't1', parents: ['c0'] })
    const ref = String(of('/git/refs')[0]?.body?.['ref'])
    expect(ref).toMatch(/^refs\/heads\/talaria-skill-release-[0-9a-f]{12}$/)
    expect(of('/pulls')[0]?.body).toMatchObject({ base: 'main', head: `acme:${ref.slice('refs/heads/'.length)}` })

    expect([(await publish()).status, (await publish()).body.created]).toEqual([200, false])
    expect(sent.some(({ method, body: moved }) => method === 'PATCH' && moved?.['sha'] === 'c1')).toBe(true)
    await until(async () => {
      const { body: log } = await call<{ data: { kind: string; subject: string }[] }>('GET', '/api/audit', { key })
      return log.data.some(({ kind, subject }) => kind === 'skill.published' && subject === 'release')
    })
  })

  it('goes through a fork where the token may not push, also into another folder', async () => {
    const { publish } = await setUp()
    const sent = serveGithub({ push: false, youngFork: 1 })
    expect((await publish({ folder: '' })).status).toBe(201)
    const tree = sent.find(({ path }) => path === '/repos/bot/skills/git/trees')?.body?.['tree'] as { path: string }[]
    expect(tree.map(({ path }) => path)).toContain('release/SKILL.md')
    expect(sent.find(({ path }) => path === '/repos/acme/skills/pulls')?.body?.['head']).toMatch(/^bot:/)
    expect(sent.filter(({ path }) => path === '/repos/bot/skills/git/blobs')).toHaveLength(3)
  })

  it('says why GitHub refuses, without the token', async () => {
    const { publish } = await setUp()
    serveGithub({ fails: { 'GET /repos/acme/skills': 401 } })
    const { status, body } = await publish()
    expect([status, body.error.message]).toEqual([
      400,
      expect.stringContaining('GitHub answered 401: the token is not valid'),
    ])
    expect(JSON.stringify(body)).not.toContain(token)
    expect((await publish({ repository: 'acme/other' })).body.error.message).toContain('404')
  })

  it.each<[string, object, number]>([
    ['a secret that does not exist', { secret: 'NONE' }, 400],
    ['a path for a repository', { repository: 'acme/../../user' }, 400],
    ['dots for a repository', { repository: 'acme/..' }, 400],
    ['a folder above', { folder: '../x' }, 400],
  ])('is not offered with %s', async (_name, body, status) => {
    const { publish } = await setUp()
    const sent = serveGithub()
    expect([(await publish(body)).status, sent]).toEqual([status, []])
  })

  it('stays here when it holds a secret, for roles without sending, and for rules against it', async () => {
    const { tenantId, key, publish } = await setUp()
    const sent = serveGithub()
    await call('POST', '/api/secrets', { key, body: { name: 'OTHER', value: 'fourteen-blue-kettles' } })
    const stored = await call('PUT', '/api/skills/release/files/references/a.md', {
      key,
      body: 'use fourteen-blue-kettles',
    })
    expect(stored.status).toBe(200)
    const leaking = await publish()
    expect([leaking.status, leaking.body.error.message]).toEqual([409, expect.stringContaining('references/a.md')])
    await call('DELETE', '/api/skills/release/files/references/a.md', { key })
    await call('PATCH', '/api/settings', {
      key,
      body: {
        roles: { writer: { scopes: ['read', 'write'], max_risk: 'write' } },
        approvals: { rules: [{ do: 'deny', tool: 'send_message' }] },
      },
    })
    const limited = await newKey(tenantId, ['read', 'write'], { role: 'writer' })
    expect((await publish({}, limited)).status).toBe(403)
    expect((await publish()).status).toBe(403)
    expect((await publish({}, await newKey(tenantId, ['read']))).status).toBe(403)
    expect(sent).toEqual([])
  })
})
