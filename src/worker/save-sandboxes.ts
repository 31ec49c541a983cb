/**
 * Adds a route to a worker with containers that saves the workspaces of running ones. The local server calls it before it
 * stops, because stopping removes its containers. Only the key of the administrator is accepted.
 */

import type { SandboxStub } from '#durable/workspace/sandbox-object.ts'
import { isAdminKey } from './auth.ts'

const path = '/sandboxes/save'
const idPattern = /^[0-9a-f]{64}$/
const maxIds = 1_000

type Fetch = ExportedHandlerFetchHandler<Env>

export const withSaving =
  (next: Fetch): Fetch =>
  async (request, env, context) => {
    if (request.method !== 'POST' || new URL(request.url).pathname !== path) return next(request, env, context)
    const presented = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
    if (!(await isAdminKey(presented, env.ADMIN_KEY ?? ''))) return new Response('Unauthorized', { status: 401 })
    const ids = new URL(request.url).searchParams.getAll('id').slice(0, maxIds)
    if (!ids.every((id) => idPattern.test(id))) return new Response('Invalid id', { status: 400 })
    const saved = await Promise.all(ids.map(async (id) => [id, await save(env, id)] as const))
    return Response.json(Object.fromEntries(saved))
  }

async function save({ SANDBOX }: Env, id: string): Promise<string> {
  if (!SANDBOX) return 'nothing'
  try {
    return await (SANDBOX.get(SANDBOX.idFromString(id)) as unknown as SandboxStub).boxSave()
  } catch (error) {
    return `failed: ${error instanceof Error ? error.message : String(error)}`
  }
}
