/** Tests the route with which the local server saves its containers before it stops. */

import { expect, it } from 'vitest'
import { withSaving } from '#worker/save-sandboxes.ts'

const key = 'the key of the administrator'
const id = 'a'.repeat(64)

function open() {
  const saved: string[] = []
  const SANDBOX = {
    idFromString: (text: string) => text,
    get: (name: string) => ({
      async boxSave() {
        if (name.startsWith('b')) throw new Error('no container')
        saved.push(name)
        return 'saved'
      },
    }),
  }
  const handler = withSaving(() => new Response('next'))
  const env = { ADMIN_KEY: key, SANDBOX } as unknown as Env
  const send = async (path: string, { method = 'POST', presented = key } = {}) => {
    const headers = { authorization: `Bearer ${presented}` }
    const request = new Request(`http://localhost${path}`, { method, headers })
    const response = await handler(request as Parameters<typeof handler>[0], env, {} as ExecutionContext)
    return [response.status, await response.text()]
  }
  return { send, saved }
}

it('saves the named containers and reports each, also one that fails', async () => {
  const { send, saved } = open()
  const other = 'b'.repeat(64)
  const [status, text] = await send(`/sandboxes/save?id=${id}&id=${other}`)
  expect([status, JSON.parse(String(text))]).toEqual([200, { [id]: 'saved', [other]: 'failed: no container' }])
  expect(saved).toEqual([id])
})

it.each([
  ['another key', `/sandboxes/save?id=${id}`, { presented: 'another key' }, 401],
  ['no key', `/sandboxes/save?id=${id}`, { presented: '' }, 401],
  ['an id that is none', '/sandboxes/save?id=../x', {}, 400],
])('refuses %s', async (_, path, options, status) => {
  const { send, saved } = open()
  expect((await send(path, options))[0]).toBe(status)
  expect(saved).toEqual([])
})

it.each([
  ['another path', '/sandboxes', {}],
  ['another method', '/sandboxes/save', { method: 'GET' }],
])('leaves %s to the worker', async (_, path, options) => {
  expect(await open().send(path, options)).toEqual([200, 'next'])
})
