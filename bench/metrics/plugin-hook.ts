/** P24: measures a hook of a tenant's plugin in its warm isolate, compared with a tenant that has no plugin. */

import { json, sendMessage, type Target, TurnFailed } from '../client.ts'
import { type Metric, times } from '../metric.ts'
import { overheadRows, type Steps } from '../overhead.ts'
import type { Stage } from '../stage.ts'
import { toolResults } from '../tool-results.ts'
import { loopOf } from './tool-loop.ts'

const steps = 20
const turns = 3
/** In the result when the hook ran, whose failures change nothing else. */
const mark = 'seen by the hook'

type Hook = { readonly name: string; readonly tenant: string; readonly code: string }

const hooks: readonly Hook[] = [
  {
    name: 'pre_tool_call',
    tenant: 'bench-judge',
    code: `export const hooks = { pre_tool_call: { matcher: 'todo|terminal', required: true, run({ args }) {
      if (/\\bgit\\s+push\\b/.test(args.command ?? '')) return { action: 'block', message: 'nobody pushes' }
    } } }`,
  },
  {
    name: 'transform_tool_result',
    tenant: 'bench-transform',
    code: `export const hooks = { transform_tool_result: { matcher: 'todo', run({ result }) {
      return result.slice(0, 1000) + ' (${mark})'
    } } }`,
  },
]

async function newTenant(admin: Target, tenant: string): Promise<Target> {
  await json(admin, 'POST', '/api/admin/tenants', { id: tenant, name: tenant })
  const limits = { requests_per_minute: 1_000_000 }
  await json(admin, 'PATCH', `/api/admin/tenants/${tenant}`, { limits })
  const asked = { tenant_id: tenant, scopes: ['read', 'write', 'chat', 'approve'], name: 'bench' }
  return { ...admin, key: (await json<{ key: string }>(admin, 'POST', '/api/admin/keys', asked)).key }
}

async function install(target: Target, { code }: Hook): Promise<void> {
  const { hash } = await json<{ hash: string }>(target, 'POST', '/api/plugins', { name: 'bench', code })
  await json(target, 'POST', '/api/plugins/bench/approve', { hash })
}

/** A hook that failed three times is not asked any more. */
async function requireHook(target: Target, hook: Hook, session: string): Promise<void> {
  type Plugin = { readonly status: string; readonly logs: readonly object[] }
  const { status, logs } = await json<Plugin>(target, 'GET', '/api/plugins/bench')
  const results = hook.name === 'transform_tool_result' ? await toolResults(target, session) : []
  const wrong = results.find((result) => !result.includes(mark))
  if (status !== 'active' || logs.length || wrong !== undefined)
    throw new TurnFailed(`the hook failed: ${status} ${wrong ?? JSON.stringify(logs).slice(0, 300)}`)
}

async function newSession(stage: Stage, target: Target): Promise<string> {
  const { session } = await sendMessage(target, 'Hello. [[text 5]]')
  await loopOf(stage.model, target, { steps: 3 }, session)
  return session
}

async function sample(stage: Stage, hooked: Target, plain: Target, hook: Hook): Promise<Steps> {
  await stage.model.reset()
  const sessions = { hooked: await newSession(stage, hooked), plain: await newSession(stage, plain) }
  const found: { with: number[]; without: number[] } = { with: [], without: [] }
  for (let n = 0; n < turns; n++) {
    found.without.push(...(await loopOf(stage.model, plain, { steps }, sessions.plain)).gaps)
    found.with.push(...(await loopOf(stage.model, hooked, { steps }, sessions.hooked)).gaps)
  }
  await requireHook(hooked, hook, sessions.hooked)
  return found
}

export const pluginHook: Metric = {
  id: 'P24',
  what: 'a hook of a plugin',
  run: async (stage, { rounds }) => {
    const { target: admin } = await stage.ours()
    const plain = await newTenant(admin, 'bench-plain')
    const hooked = await Promise.all(hooks.map(({ tenant }) => newTenant(admin, tenant)))
    for (const [n, hook] of hooks.entries()) await install(hooked[n] ?? plain, hook)
    const found = (
      await times(1 + rounds, () => times(hooks.length, (n) => sample(stage, hooked[n]!, plain, hooks[n]!)))
    ).slice(1)
    return hooks.flatMap(({ name }, n) =>
      overheadRows(
        'P24',
        `a hook of a tenant's plugin (${name}), warm`,
        2,
        found.flatMap((round) => round[n] ?? []),
      ),
    )
  },
}
