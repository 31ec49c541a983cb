/** Tests `/v1/conversations`, and references from the input of a response to items. */

import { beforeAll, expect, it } from 'vitest'
import { calls, model as modelOf, type ModelRequest, says } from '../../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newTenant } from '../client.ts'

beforeAll(applyMigrations)

type Item = { readonly id: string; readonly type: string; readonly role?: string; readonly output?: string | null }
type List = { readonly data: readonly Item[]; readonly has_more: boolean; readonly last_id: string }
type Conversation = { readonly id: string; readonly metadata: object }
type Response_ = { readonly id: string; readonly output: readonly Item[] }

const create = async (body: object = {}, key?: string) =>
  (await call<Conversation>('POST', '/v1/conversations', { body, ...(key && { key }) })).body
const respond = async (body: object) => (await call<Response_>('POST', '/v1/responses', { body })).body
const list = async (id: string, query = '') =>
  (await call<List>('GET', `/v1/conversations/${id}/items?order=asc${query}`)).body

it('a conversation has metadata and items, and responses continue it', async () => {
  const made = await create({ metadata: { topic: 'a' }, items: [{ type: 'message', role: 'user', content: 'Hello!' }] })
  expect([made.id, made.metadata]).toEqual([expect.stringMatching(/^conv_/), { topic: 'a' }])
  const path = `/v1/conversations/${made.id}`
  expect((await call('POST', path, { body: { metadata: { topic: 'b' } } })).body['metadata']).toEqual({ topic: 'b' })
  expect((await call('GET', path)).body['metadata']).toEqual({ topic: 'b' })
  let received: ModelRequest | undefined
  const { id: model } = modelOf((asked) => {
    received = asked
    return says('Yes.')
  })
  const { output } = await respond({ model, input: 'And?', conversation: made.id })
  expect(received?.messages.flatMap(({ role, content }) => (role === 'user' ? [content] : [])).join()).toMatch(
    /Hello!.*And\?/s,
  )
  const whole = await list(made.id)
  expect(whole.data.map(({ role }) => role)).toEqual(['user', 'user', 'assistant'])
  expect(whole.data.at(-1)).toEqual(output[0])
  const first = await list(made.id, '&limit=2')
  const rest = await list(made.id, `&limit=2&after=${first.last_id}`)
  expect([first.has_more, rest.has_more, [...first.data, ...rest.data]]).toEqual([true, false, whole.data])
  expect((await call('GET', `${path}/items/${output[0]?.id}`)).body).toEqual(output[0])
  const added = await call<List>('POST', `${path}/items`, {
    body: { items: [{ role: 'assistant', content: 'More.' }] },
  })
  expect((await list(made.id)).data.at(-1)).toEqual(added.body.data[0])
  expect((await call('DELETE', path)).body).toEqual({ id: made.id, object: 'conversation.deleted', deleted: true })
  expect((await call('GET', path)).status).toBe(404)
})

it('the last turn is deleted by one of its items, and others are kept', async () => {
  const made = await create()
  const { id: model } = modelOf(() => says('Yes.'))
  await respond({ model, input: 'one', conversation: made.id })
  await respond({ model, input: 'two', conversation: made.id })
  const items = (await list(made.id)).data
  const path = `/v1/conversations/${made.id}/items`
  expect((await call('DELETE', `${path}/${items[0]?.id}`)).status).toBe(409)
  expect((await call('DELETE', `${path}/${items.at(-1)?.id}`)).status).toBe(200)
  expect((await list(made.id)).data).toEqual(items.slice(0, 2))
  expect((await call('DELETE', `${path}/msg_99_0_${made.id}`)).status).toBe(404)
})

it('a conversation is hidden from other tenants, and stores no system text', async () => {
  const made = await create()
  const { key } = await newTenant()
  const path = `/v1/conversations/${made.id}`
  const asks = [call('GET', path, { key }), call('GET', `${path}/items`, { key }), call('DELETE', path, { key })]
  expect((await Promise.all(asks)).map(({ status }) => status)).toEqual([404, 404, 404])
  const items = [{ type: 'message', role: 'system', content: 'x' }]
  const refused = await call<ErrorBody>('POST', `${path}/items`, { body: { items } })
  expect([refused.status, refused.body.error.param]).toEqual([400, 'items'])
})

it('items are referenced by id, and calls of the agent are completed by theirs', async () => {
  const { id: model } = modelOf(({ messages }, nth) => {
    if (nth === 0) return calls({ name: 'todo', input: {} })
    return nth === 1 ? says('Nothing.') : says(messages.map(({ role }) => role).join(' '))
  })
  const first = await respond({ model, input: 'todo?' })
  const [done, said] = first.output
  const { output: _output, ...withoutOutput } = done as Item
  const input = [
    { role: 'user', content: 'todo?' },
    withoutOutput,
    { type: 'item_reference', id: said?.id },
    { role: 'user', content: 'Sure?' },
  ]
  const second = await respond({ model, input })
  expect(JSON.stringify(second.output)).toContain('system user assistant tool assistant user')
  const { key } = await newTenant()
  const foreign = await call<ErrorBody>('POST', '/v1/responses', { body: { input }, key })
  expect([foreign.status, foreign.body.error.param]).toEqual([400, 'input.2.id'])
})
