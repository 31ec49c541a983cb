/** Tests the memory of projects: whose prompts have it, who changes it, and its end. */

import { beforeAll, describe, expect, it } from 'vitest'
import { memoryOf } from '#durable/tenant/memory/memory.ts'
import { ownerAuthority } from '../support/authority.ts'
import { createChat, receiveMessage } from '../support/chat.ts'
import { calls, type Model, model, says } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, type ErrorBody, newKey, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)

type Store = { readonly entries: readonly string[] }
type Stores = Readonly<Record<'memory' | 'user', Store>> & { readonly project?: Store } & ErrorBody
type Listed<T> = { readonly data: readonly T[] }

const all = ['chat', 'read', 'write', 'jobs', 'approve']
const roles = { team: { scopes: ['chat', 'read', 'write'] }, narrow: { scopes: ['read', 'write'], max_risk: 'read' } }
const fact = 'The villa has six beds.'

async function setUp() {
  const { id: tenant, key } = await newTenant(all)
  await call('PATCH', '/api/settings', { key, body: { roles, approvals: { mode: 'off' } } })
  const newProject = async (members: readonly object[] = []) =>
    (await call<{ id: string }>('POST', '/api/projects', { key, body: { name: 'Trips', members } })).body.id
  const patch = (project: string | undefined, operation: object, by = key) =>
    call<Stores>('PATCH', '/api/memory', {
      key: by,
      body: { target: 'project', project_id: project, operations: [operation] },
    })
  return {
    tenant,
    key,
    newProject,
    patch,
    add: (project: string, content: string, by = key) => patch(project, { action: 'add', content }, by),
    get: (project: string, by = key) => call<Stores>('GET', `/api/memory?project=${project}`, { key: by }),
    /** The prompt of a new session. */
    prompt: async (project_id: string | undefined, by = key) => {
      const scripted = model([says('Hello.')])
      const { id } = await newSession({ model: scripted.id, ...(project_id && { project_id }) }, by)
      await call('POST', `/api/sessions/${id}/chat`, { key: by, body: { input: 'hi' } })
      return systemOf(scripted)
    },
  }
}

const systemOf = ({ requests }: Model): string =>
  String(requests.at(-1)?.messages.find(({ role }) => role === 'system')?.content ?? '')

describe('the memory of a project', () => {
  it('is in the prompts of its sessions alone, beside that of the tenant, and follows a session that moves', async () => {
    const { key, newProject, add, prompt } = await setUp()
    const [one, other] = [await newProject(), await newProject()]
    await call('PATCH', '/api/memory', {
      key,
      body: { target: 'memory', operations: [{ action: 'add', content: 'Likes tea.' }] },
    })
    await add(one, fact)
    expect(await prompt(one)).toMatch(/Likes tea\.[^]*Facts about this project[^]*six beds/)
    for (const elsewhere of [other, undefined]) expect(await prompt(elsewhere)).not.toContain('six beds')

    const scripted = model([says('1'), says('2'), says('3')])
    const session = await newSession({ model: scripted.id }, key)
    const path = `/api/sessions/${session.id}`
    const has: boolean[] = []
    for (const project_id of [one, other, null]) {
      await call('PATCH', path, { key, body: { project_id } })
      await call('POST', `${path}/chat`, { key, body: { input: 'hi' } })
      has.push(systemOf(scripted).includes('six beds'))
    }
    expect(has).toEqual([true, false, false])
  })

  it('is written by the agent of its sessions, which cannot name another project', async () => {
    const { key, newProject, add, get } = await setUp()
    const [one, other] = [await newProject(), await newProject()]
    const write = { target: 'project', action: 'add', content: fact, project_id: other, project: { id: other } }
    const scripted = model([calls({ name: 'memory', input: write }), says('Done.')])
    const session = await newSession({ model: scripted.id, project_id: one }, key)
    await call('POST', `/api/sessions/${session.id}/chat`, { key, body: { input: 'Keep it.' } })
    expect((await get(one)).body.project?.entries).toEqual([fact])
    expect((await get(other)).body.project?.entries).toEqual([])
    const { body } = await call<Listed<{ text: string; session_id: string }>>(
      'GET',
      `/api/memory/entries?target=project&project=${one}`,
      { key },
    )
    expect(body.data).toEqual([expect.objectContaining({ text: fact, session_id: session.id })])

    await add(other, 'Elsewhere.')
    const outside = model([calls({ name: 'memory', input: { target: 'project', action: 'read' } }), says('Done.')])
    const alone = await newSession({ model: outside.id }, key)
    await call('POST', `/api/sessions/${alone.id}/chat`, { key, body: { input: 'Read it.' } })
    expect(JSON.stringify(outside.requests.at(-1))).toContain('belongs to no project')
    expect(JSON.stringify(outside.requests)).not.toContain('Elsewhere.')
  })

  it('is read by members, changed by those who may change the project, and does not exist for others', async () => {
    const { tenant, key, newProject, add, get, patch, prompt } = await setUp()
    const project = await newProject([
      { role: 'team', access: 'use' },
      { role: 'narrow', access: 'edit' },
    ])
    await add(project, fact)
    const [member, narrow] = await Promise.all(['team', 'narrow'].map((role) => newKey(tenant, all, { role })))
    const stranger = await newKey(tenant, ['chat', 'read', 'write'])
    expect((await get(project, member)).body.project?.entries).toEqual([fact])
    expect(await prompt(project, member)).toContain('six beds')
    expect((await add(project, 'More.', member)).body.error.message).toContain('may use this project, not change it')
    expect((await add(project, 'More.', narrow)).status).toBe(403)
    expect((await add(project, 'More.', stranger)).status).toBe(404)
    for (const path of ['', '/entries', '/versions']) {
      const query = `?project=${project}${path && '&target=project'}`
      expect((await call('GET', `/api/memory${path}${query}`, { key: stranger })).status).toBe(404)
    }
    expect((await patch(undefined, { action: 'add', content: 'x' })).body.error).toMatchObject({ param: 'project_id' })
    const put = { project: ['Everything else.'] }
    expect((await call('PUT', '/api/memory', { key, body: put })).status).toBe(400)
    await call('PUT', '/api/memory', { key, body: { ...put, project_id: project } })
    expect((await get(project)).body.project?.entries).toEqual(put.project)
    // Somebody who is no member finds nothing to forget, restore or approve.
    const forgotten = await call('POST', '/api/memory/forget', { key: stranger, body: { words: 'everything' } })
    expect(forgotten.body).toMatchObject({ entries: [], earlier: 0 })
    const { body } = await call<Listed<{ id: number }>>(
      'GET',
      `/api/memory/versions?target=project&project=${project}`,
      {
        key,
      },
    )
    const restore = (by: string) => call('POST', `/api/memory/versions/${body.data[1]?.id}/restore`, { key: by })
    expect([(await restore(stranger)).status, (await restore(member ?? '')).status]).toEqual([404, 409])
    expect((await restore(key)).status).toBe(200)
    expect((await get(project)).body.project?.entries).toEqual([fact])
  })

  it('is hidden when somebody who may not read the tenant continues a session', async () => {
    const { tenant, key, newProject, add } = await setUp()
    const project = await newProject()
    await add(project, fact)
    const connection = `c-${tenant}`
    const scripted = model([says('1'), says('2')])
    const { id } = await newSession({ model: scripted.id, project_id: project }, key)
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi' } })
    expect(systemOf(scripted)).toContain('six beds')
    const { promptFor } = await import('#agent/memory/personal-layers.ts')
    const layer = 'Facts about this project'
    const stranger = { ...ownerAuthority(tenant), scopes: ['chat'] as const, channel: { connection, chat: '1' } }
    expect(promptFor(`a\n\n${layer}\n\nb`, { projectMemory: layer }, stranger)).toBe('a\n\nb')
  })

  it('is read by people of a channel that has the project, as far as they read the tenant', async () => {
    const { key, newProject, add } = await setUp()
    const project = await newProject()
    await add(project, fact)
    for (const search_scope of ['tenant', 'chat']) {
      const chat = await createChat([says('Six.')], { project, search_scope }, key)
      await receiveMessage(chat, 'How many beds?')
      await chat.api.waitForText('Six.')
      expect(systemOf(chat.scripted).includes('six beds')).toBe(search_scope === 'tenant')
    }
  })

  it('waits for approval like other writes, is exported, and is forgotten by words in every project', async () => {
    const { tenant, key, newProject, add, get } = await setUp()
    await call('PATCH', '/api/settings', { key, body: { memory: { write_approval: true } } })
    const [one, other] = [await newProject(), await newProject()]
    const memory = memoryOf(bindings.TENANT.getByName(`t/${tenant}`))
    const owner = ownerAuthority(tenant)
    const change = (id: string, content: string) =>
      memory.change(owner, { target: 'project', project: { id }, operations: [{ action: 'add', content }] })
    await change(one, fact)
    await change(one, 'It has a pool.')
    const listed = await call<Listed<{ id: string; project: string }>>('GET', '/api/memory/pending', { key })
    expect(listed.body.data.map(({ project }) => project)).toEqual([one, one])
    const stranger = await newKey(tenant, ['chat', 'read', 'write'])
    const decide = (id: string, by: string) =>
      call('POST', `/api/memory/pending/${id}`, { key: by, body: { decision: 'approve' } })
    const [first] = listed.body.data
    expect((await call<Listed<object>>('GET', '/api/memory/pending', { key: stranger })).body.data).toEqual([])
    expect((await decide(first?.id ?? '', stranger)).status).toBe(404)
    for (const { id } of listed.body.data) expect((await decide(id, key)).status).toBe(200)
    expect((await get(one)).body.project?.entries.toSorted()).toEqual(['It has a pool.', fact])
    await add(other, 'Six beds here, too.')
    const exported = await memory.listAll(owner)
    expect(exported).toContainEqual({ target: 'project', owner: other, entries: ['Six beds here, too.'] })
    const forget = (confirm: boolean) =>
      call<{ entries: readonly object[] }>('POST', '/api/memory/forget', { key, body: { words: 'six beds', confirm } })
    expect((await forget(false)).body.entries).toEqual(
      expect.arrayContaining([
        { target: 'project', project: one, text: fact },
        { target: 'project', project: other, text: 'Six beds here, too.' },
      ]),
    )
    await forget(true)
    expect((await get(one)).body.project?.entries).toEqual(['It has a pool.'])
    expect((await get(other)).body.project?.entries).toEqual([])
  })

  it('is shown, restored and decided by commands of its sessions alone, which say when nothing was restored', async () => {
    const { tenant, key, newProject, add, get, patch } = await setUp()
    const project = await newProject([{ role: 'team', access: 'use' }])
    const more = 'It has a pool, a garden and a view of the whole lake.'
    await add(project, fact)
    await patch(project, { action: 'replace', old_text: 'six beds', content: more })
    const say = async (input: string, project_id: string | undefined = project, by = key) => {
      const { id } = await newSession(project_id ? { project_id } : {}, by)
      return (await call<{ output: string }>('POST', `/api/sessions/${id}/chat`, { key: by, body: { input } })).body
        .output
    }
    const entries = async () => (await get(project)).body.project?.entries
    const shown = await say('/memory versions')
    const ids = [...shown.matchAll(/^(\d+) \(project, /gm)].map(([, id]) => id)
    expect([ids.length, shown]).toEqual([2, expect.stringContaining(`+ ${more}`)])
    const elsewhere = await newProject()
    expect(await say('/memory versions', elsewhere)).not.toContain('pool')
    expect(await say(`/memory restore ${ids[1]}`, elsewhere)).toContain('There is no version')
    const member = await newKey(tenant, all, { role: 'team' })
    expect(await say(`/memory restore ${ids[1]}`, project, member)).toMatch(/not stored.*may use this project/)
    expect(await entries()).toEqual([more])
    expect(await say(`/memory restore ${ids[1]}`)).toContain('Restored.')
    expect(await entries()).toEqual([fact])
    // A version that has become too long.
    await call('PATCH', '/api/settings', { key, body: { memory: { memory_char_limit: fact.length + 5 } } })
    expect(await say(`/memory restore ${ids[0]}`)).toMatch(/not stored\. This version has \d+ characters/)
    expect(await entries()).toEqual([fact])

    await call('PATCH', '/api/settings', { key, body: { memory: { write_approval: true, memory_char_limit: 500 } } })
    await memoryOf(bindings.TENANT.getByName(`t/${tenant}`)).change(ownerAuthority(tenant), {
      target: 'project',
      project: { id: project },
      operations: [{ action: 'add', content: 'It has a sauna.' }],
    })
    const [, write] = /^(\S+) \(project\): add "It has a sauna\."/.exec(await say('/memory pending')) ?? []
    expect(await say(`/memory approve ${write}`, project, member)).not.toContain('stored. New')
    expect(await say(`/memory approve ${write}`)).toContain('stored. New sessions get it.')
    expect(await entries()).toEqual([fact, 'It has a sauna.'])
    expect(await say('/memory pending')).toBe('Nothing waits for approval.')
  })

  it('ends with its project', async () => {
    const { tenant, key, newProject, add, prompt } = await setUp()
    const project = await newProject()
    await add(project, fact)
    await call('DELETE', `/api/projects/${project}`, { key })
    const memory = memoryOf(bindings.TENANT.getByName(`t/${tenant}`))
    expect(await memory.listAll(ownerAuthority(tenant))).toEqual([{ target: 'memory', entries: [] }])
    const left = await call<{ earlier: number }>('POST', '/api/memory/forget', { key, body: { words: 'beds' } })
    expect(left.body.earlier).toBe(0)
    expect(await prompt(undefined)).not.toContain('six beds')
  })
})
