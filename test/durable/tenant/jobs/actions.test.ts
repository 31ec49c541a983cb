/**
 * Tests that what a job does beside its turns is judged as the tool call that it amounts to: scripts, monitors and
 * deliveries, when the job is saved and again when it runs. Approvals of scripts hold for the exact script.
 */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { applyMigrations, call, type ErrorBody, newKey } from '#test/worker/client.ts'
import { type Job, jobTenant } from './support.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const all = ['chat', 'read', 'write', 'jobs', 'approve']
const roles = {
  writer: { scopes: all, max_risk: 'write' },
  files: { scopes: all, toolsets: ['file'] },
  runner: { scopes: all, toolsets: ['terminal', 'web', 'send_message'], max_risk: 'send' },
}

async function setUp(settings: object = {}) {
  const t = await jobTenant(all)
  const patch = (body: object) => call<ErrorBody>('PATCH', '/api/settings', { key: t.key, body })
  expect((await patch({ roles, ...settings })).status).toBe(200)
  const create = async (key: string, body: object) =>
    call<Job & ErrorBody>('POST', '/api/jobs', { key, body: { name: 'it', schedule: 'every 1h', ...body } })
  return { ...t, patch, createWith: create, keyOf: (role: keyof typeof roles) => newKey(t.id, all, { role }) }
}

const script = { script: 'echo hello', no_agent: true }
const watching = { prompt: 'Tell.', monitor_url: 'https://example.com/' }
const sending = { ...script, deliver: 'https://example.com/hook' }

/** Runs the job once and returns its end. */
async function runOnce(t: Awaited<ReturnType<typeof setUp>>, id: string) {
  const before = (await t.runsOf(id)).length
  await t.post(`/api/jobs/${id}/run`)
  const [run] = await t.ended(id, before + 1)
  return run
}

describe('a role', () => {
  it.each([
    ['writer', 'script', script],
    ['files', 'script', script],
    ['writer', 'monitor_script', { prompt: 'Tell.', monitor_script: 'echo same' }],
    ['writer', 'monitor_url', watching],
    ['files', 'monitor_url', watching],
    ['writer', 'deliver', { prompt: 'Tell.', deliver: 'https://example.com/hook' }],
    ['files', 'deliver', { prompt: 'Tell.', deliver: 'https://example.com/hook' }],
  ] as const)('%s saves no job with the field %s', async (role, param, body) => {
    const t = await setUp()
    const refused = await t.createWith(await t.keyOf(role), body)
    expect([refused.status, refused.body.error.param]).toEqual([400, param])
    expect((await t.createWith(t.key, body)).status).toBe(201)
  })

  it.each([
    ['script', script],
    ['monitor_url', watching],
    ['deliver', sending],
  ])('that has become narrower stops the %s of a job that was saved before', async (_what, body) => {
    const t = await setUp()
    const made = await t.createWith(await t.keyOf('runner'), body)
    expect([made.status, made.body.error]).toEqual([201, undefined])
    await t.patch({ roles: { ...roles, runner: { scopes: all, max_risk: 'read' } } })
    await runOnce(t, made.body.id)
    const job = await t.jobOf(made.body.id)
    const error = job.last_delivery_error ?? job.last_error ?? ''
    expect(error).toContain('the role allows calls up to the risk "read"')
  })
})

describe('a script', () => {
  it.each([
    ['a rule denies', { approvals: { rules: [{ do: 'deny', tool: 'terminal' }] } }, 'a rule denies terminal'],
    ['the settings switch off', { toolsets: { disabled: ['terminal'] } }, 'terminal'],
  ])('does not run where %s its tool, not even for who may approve', async (_why, settings, reason) => {
    const t = await setUp()
    const made = await t.createWith(t.key, script)
    expect((await t.patch(settings)).status).toBe(200)
    expect(await runOnce(t, made.body.id)).toMatchObject({ status: 'failed', error: expect.stringContaining(reason) })
    expect((await t.createWith(t.key, { ...script, name: 'other' })).status).toBe(400)
  })

  it('runs for its tenant and for a role that has its tool', async () => {
    const t = await setUp()
    for (const [n, key] of [t.key, await t.keyOf('runner')].entries()) {
      const made = await t.createWith(key, { ...script, name: `job ${n}` })
      expect(await runOnce(t, made.body.id)).toMatchObject({ status: 'completed', output: 'hello\n' })
    }
  })

  const risky = { script: 'git push origin main; echo pushed', no_agent: true }
  const needsApproval = { status: 'failed', error: expect.stringContaining('needs approval') }

  it('is approved by whoever may approve and writes it, and not by another change of the job', async () => {
    const t = await setUp()
    const plain = await newKey(t.id, ['chat', 'read', 'write', 'jobs'])
    const { body: job } = await t.createWith(plain, risky)
    expect(await runOnce(t, job.id)).toMatchObject(needsApproval)
    const change = (key: string, body: object) => call('PATCH', `/api/jobs/${job.id}`, { key, body })
    expect((await change(t.key, { name: 'renamed' })).status).toBe(200)
    expect(await runOnce(t, job.id)).toMatchObject(needsApproval)
    expect((await change(t.key, { script: risky.script })).status).toBe(200)
    expect(await runOnce(t, job.id)).not.toMatchObject(needsApproval)
    expect((await change(plain, { name: 'again' })).status).toBe(200)
    expect(await runOnce(t, job.id)).not.toMatchObject(needsApproval)
  })

  it.each([
    ['another text', { script: 'git push origin other' }],
    ['another directory', { workdir: 'elsewhere' }],
  ])('loses its approval with %s', async (_what, body) => {
    const t = await setUp()
    const plain = await newKey(t.id, ['chat', 'read', 'write', 'jobs'])
    const { body: job } = await t.createWith(t.key, risky)
    expect(await runOnce(t, job.id)).not.toMatchObject(needsApproval)
    await call('PATCH', `/api/jobs/${job.id}`, { key: plain, body })
    expect(await runOnce(t, job.id)).toMatchObject(needsApproval)
  })
})
