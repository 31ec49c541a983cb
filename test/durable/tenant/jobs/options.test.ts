/** Tests what a job can be given beside its prompt: targets, monitors, limits, skills, and the tool that makes jobs. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { calls, model, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newSession } from '#test/worker/client.ts'
import { hourMs, type Job, jobTenant } from './support.ts'

beforeAll(applyMigrations)
afterEach(() => {
  replaceClock()
  vi.restoreAllMocks()
})

type Sent = { readonly headers: Headers; readonly body: string }

/** Answers requests for one host; all others go on. */
function serve(host: string, answer: (sent: Sent, nth: number) => Response) {
  const sent: Sent[] = []
  const pass = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input, init)
    if (new URL(request.url).host !== host) return pass(input, init)
    const one = { headers: request.headers, body: await request.text() }
    sent.push(one)
    return answer(one, sent.length)
  })
  return sent
}

async function sign(secret: string, text: string): Promise<string> {
  const bytes = new TextEncoder()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytes.encode(secret), algorithm, false, ['sign'])
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes.encode(text)))
  return [...signature].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

const jobMessages = async (key: string, session: string) => {
  type Listed = { data: { content: string; source?: string }[] }
  const { body } = await call<Listed>('GET', `/api/sessions/${session}/messages`, { key })
  return body.data.filter(({ source }) => source === 'job').map(({ content }) => content)
}

describe('a webhook as target', () => {
  const script = {
    schedule: 'every 1h',
    script: 'echo disk 91%',
    no_agent: true,
    deliver: 'https://hook.example.com/in',
  }

  it('gets the result with a signature of the secret that the job shows', async () => {
    const t = await jobTenant()
    const sent = serve('hook.example.com', () => new Response('ok'))
    const job = await t.create(script)
    await t.pass(hourMs)
    await t.ended(job.id)
    const [delivery] = await until(() => (sent.length ? sent : undefined))
    const { headers, body } = delivery as Sent
    expect(JSON.parse(body)).toMatchObject({ type: 'job.run', job_id: job.id, status: 'completed', text: 'disk 91%\n' })
    const { webhook_secret: secret = '' } = await t.jobOf(job.id)
    expect(headers.get('x-webhook-signature-v2')).toBe(
      await sign(secret, `${headers.get('x-webhook-timestamp')}.${body}`),
    )
    expect(headers.get('idempotency-key')).toBeTruthy()
  })

  it('that answers 503 gets it again with the same key, and the attempt is named', async () => {
    const t = await jobTenant()
    const sent = serve('hook.example.com', (_sent, nth) => new Response('', { status: nth === 1 ? 503 : 200 }))
    const job = await t.create(script)
    await t.pass(hourMs)
    await t.ended(job.id)
    await until(() => sent.length === 1)
    await until(async () => {
      await t.pass(60_000)
      return sent.length === 2
    })
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys[0]).toBe(keys[1])
    expect(sent[1]?.headers.get('x-talaria-attempt')).toBe('2')
  })

  it('that answers 404 fails at once, apart from the run', async () => {
    const t = await jobTenant()
    serve('hook.example.com', () => new Response('', { status: 404 }))
    const job = await t.create(script)
    await t.pass(hourMs)
    await t.ended(job.id)
    const run = await until(async () => (await t.runsOf(job.id)).find((one) => one.delivery_error !== null))
    expect(run).toMatchObject({ status: 'completed', delivery_error: expect.stringContaining('404') as string })
  })
})

describe('a monitored address', () => {
  it('runs the agent with what has changed', async () => {
    const t = await jobTenant()
    serve('status.example.com', (_sent, nth) => new Response(nth === 1 ? 'all is well\n' : 'database is down\n'))
    const scripted = model([says('first'), says('second')])
    const job = await t.create({
      prompt: 'Tell.',
      schedule: 'every 1h',
      monitor_url: 'https://status.example.com/',
      model: scripted.id,
    })
    await t.pass(hourMs)
    await t.ended(job.id)
    await t.pass(hourMs)
    expect((await t.ended(job.id, 2))[0]).toMatchObject({ status: 'completed', output: 'second' })
    const asked = JSON.stringify(scripted.requests[1]?.messages)
    expect(asked).toContain('-all is well')
    expect(asked).toContain('+database is down')
    expect(asked).toContain('<untrusted-')
  })

  it('that cannot be read is a failed run', async () => {
    const t = await jobTenant()
    serve('status.example.com', () => new Response('', { status: 500 }))
    const scripted = model([says('never')])
    const job = await t.create({
      prompt: 'Tell.',
      schedule: 'every 1h',
      monitor_url: 'https://status.example.com/',
      model: scripted.id,
    })
    await t.pass(hourMs)
    expect((await t.ended(job.id))[0]).toMatchObject({ status: 'failed' })
    expect(scripted.requests).toHaveLength(0)
  })
})

describe('a run', () => {
  it('has at most the model calls of its job', async () => {
    const t = await jobTenant()
    const scripted = model([calls({ name: 'list_nothing', input: {} }), says('The end.')])
    const job = await t.create({ prompt: 'Work.', schedule: 'every 1h', model: scripted.id, max_turns: 1 })
    await t.pass(hourMs)
    await t.ended(job.id)
    // The second call is the one that has to answer without tools.
    expect(scripted.requests.map(({ tools }) => tools !== undefined)).toEqual([true, false])
  })

  it('works in the directory of its job', async () => {
    const t = await jobTenant()
    const job = await t.create({ schedule: 'every 1h', script: 'pwd', no_agent: true, workdir: 'reports' })
    await t.pass(hourMs)
    expect((await t.ended(job.id))[0]).toMatchObject({ status: 'completed', output: '/workspace/reports\n' })
  })

  it('begins with the skills of its job', async () => {
    const t = await jobTenant()
    const content = '---\nname: weekly\ndescription: Reports.\n---\n\nCount the open tickets first.\n'
    await t.post('/api/skills', { name: 'weekly', content })
    const scripted = model([says('done')])
    const job = await t.create({ prompt: 'Report.', schedule: 'every 1h', model: scripted.id, skills: ['weekly'] })
    await t.pass(hourMs)
    await t.ended(job.id)
    expect(JSON.stringify(scripted.requests[0]?.messages)).toContain('Count the open tickets first.')
  })
})

describe('the tool cronjob', () => {
  /** A conversation whose model makes a job of the given fields. */
  async function makeJob(fields: object) {
    const t = await jobTenant()
    const worker = model([says('The report.')])
    const input = { action: 'create', schedule: 'every 1h', prompt: 'Report.', model: worker.id, ...fields }
    const talker = model([calls({ name: 'cronjob', input }), says('Scheduled.')])
    const { id: session } = await newSession({ model: talker.id }, t.key)
    await t.post(`/api/sessions/${session}/chat`, { input: 'Report every hour.' })
    const [job] = (await t.get<{ data: Job[] }>('/api/jobs')).data
    return { t, session, job: job as Job, worker }
  }

  it('makes a job whose result comes back to the conversation, once', async () => {
    const { t, session, job, worker } = await makeJob({})
    await t.pass(hourMs)
    expect((await t.ended(job.id))[0]).toMatchObject({ status: 'completed', output: 'The report.' })
    await until(async () => (await jobMessages(t.key, session)).length > 0)
    await t.wake()
    expect(await jobMessages(t.key, session)).toEqual([expect.stringContaining('The report.')])
    expect(worker.requests).toHaveLength(1)
  })

  it('delivers elsewhere, and to the conversation as well when it is attached', async () => {
    const { t, session, job } = await makeJob({ deliver: 'local', attach_to_session: true })
    await t.pass(hourMs)
    await t.ended(job.id)
    const messages = await until(async () => {
      const found = await jobMessages(t.key, session)
      return found.length ? found : undefined
    })
    expect(messages).toEqual([expect.stringContaining('The report.')])
  })

  it('is refused to a key without the scope jobs', async () => {
    const t = await jobTenant(['chat', 'read', 'write'])
    const input = { action: 'create', schedule: 'every 1h', prompt: 'Report.' }
    const talker = model([calls({ name: 'cronjob', input }), says('No.')])
    const { id: session } = await newSession({ model: talker.id }, t.key)
    await t.post(`/api/sessions/${session}/chat`, { input: 'Report every hour.' })
    expect(JSON.stringify(talker.requests[1]?.messages)).toContain('scope')
  })

  it('is what demo/agent calls for "every 30m: …"', async () => {
    const t = await jobTenant()
    const { id: session } = await newSession({ model: 'demo/agent' }, t.key)
    await t.post(`/api/sessions/${session}/chat`, { input: 'every 30m: look outside' })
    const [job] = (await t.get<{ data: (Job & { prompt: string })[] }>('/api/jobs')).data
    expect(job).toMatchObject({ prompt: 'look outside', state: 'scheduled' })
  })
})

describe('the toolsets of a job', () => {
  it('are refused by name when there is no such toolset', async () => {
    const { key } = await jobTenant()
    const body = { name: 'r', prompt: 'x', schedule: 'every 9h', enabled_toolsets: ['file', 'kanban'] }
    const refused = await call<{ error: { message: string; param: string } }>('POST', '/api/jobs', { key, body })
    expect([refused.status, refused.body.error.param]).toEqual([400, 'enabled_toolsets'])
    expect(refused.body.error.message).toContain('kanban')
    const accepted = { ...body, enabled_toolsets: ['file', 'mcp__git__log', 'hermes-cron'] }
    expect((await call('POST', '/api/jobs', { key, body: accepted })).status).toBe(201)
  })
})
