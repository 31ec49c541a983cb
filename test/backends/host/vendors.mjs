// Simulates the APIs of vendors on a local port, with the local bash as sandbox.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createLocalHost } from './local-host.mjs'

/** The vendors share the scripts of the host backend, which host-backend.test.ts tests in full. */
export const vendorCases = process.env.TALARIA_CONFORMANCE === 'all' ? 'all' : 'transport'

async function play(answer) {
  const host = createLocalHost()
  const asked = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://vendor')
    asked.push(`${request.method} ${url.pathname}`)
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const send = (status, value, type = 'application/json') =>
      response
        .writeHead(status, { 'content-type': type })
        .end(value instanceof Uint8Array ? value : JSON.stringify(value))
    await answer({ request, url, body, send, host }).catch((error) => send(500, { message: error.message }))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    ...host,
    asked,
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => {
      server.closeAllConnections()
      server.close()
      host.drop()
    },
  }
}

const fileIn = (request, body) =>
  new Response(body, { headers: { 'content-type': request.headers['content-type'] } }).formData()
async function keep(path, request, body) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, Buffer.from(await (await fileIn(request, body)).get('file').arrayBuffer()))
}

export function playDaytona(key) {
  const known = new Map()
  let next = 0
  const world = { known }
  const answer = async ({ request, url, body, send, host }) => {
    if (request.headers.authorization !== `Bearer ${key}`) return send(401, { message: 'Unauthorized' })
    const [, area, id, ...rest] = url.pathname.split('/')
    const action = `${request.method} ${rest.join('/')}`
    if (area === 'api') return lifecycle({ id: rest[1], action: `${request.method} ${rest.slice(2).join('/')}`, send })
    if (known.get(id) !== 'started') return send(400, { message: 'bad request: sandbox is not running' })
    if (action === 'POST process/execute') {
      const { command, timeout } = JSON.parse(body.toString())
      const { code, output } = await host.port.run(command, timeout * 1000)
      return send(200, { exitCode: code, result: output })
    }
    const path = url.searchParams.get('path')
    if (action === 'POST files/upload') return send(200, (await keep(path, request, body)) ?? {})
    if (action === 'GET files/download') return send(200, await readFile(path), 'application/octet-stream')
    send(404, { message: 'no such route' })
  }
  const lifecycle = ({ id, action, send }) => {
    if (id === undefined && action === 'POST ') {
      const made = `box-${++next}`
      known.set(made, 'creating')
      return send(200, { id: made, state: 'creating' })
    }
    if (!known.has(id)) return send(404, { message: 'not found' })
    if (action === 'DELETE ') return send(200, known.delete(id))
    if (action === 'POST start') return send(200, known.set(id, 'starting') && {})
    const state = known.get(id)
    // Seen once on the way, then there.
    if (state !== 'started' && state !== 'stopped') known.set(id, 'started')
    return send(200, { id, state })
  }
  return play(answer).then((played) => ({ ...played, ...world }))
}

export function playE2b(key) {
  const known = new Map()
  let next = 0
  const answer = async ({ request, url, body, send, host }) => {
    const [, area, id, ...rest] = url.pathname.split('/')
    if (area === 'api') {
      if (request.headers['x-api-key'] !== key) return send(401, { message: 'Invalid API key' })
      const action = `${request.method} ${rest[2] ?? ''}`
      if (rest[1] === undefined) {
        const made = `box${++next}`
        known.set(made, 'inside-key')
        return send(201, { sandboxID: made, envdAccessToken: 'inside-key', templateID: 'base' })
      }
      if (!known.has(rest[1])) return send(404, { message: 'not found' })
      if (action === 'DELETE ') return send(204, known.delete(rest[1]))
      return send(200, { sandboxID: rest[1], envdAccessToken: 'inside-key' })
    }
    if (request.headers['x-access-token'] !== known.get(id)) return send(401, { message: 'no' })
    if (request.headers['x-api-key']) return send(500, { message: 'the key of the account came inside' })
    const path = url.searchParams.get('path')
    if (rest[0] === 'files' && request.method === 'POST') return send(200, (await keep(path, request, body)) ?? [])
    if (rest[0] === 'files') return send(200, await readFile(path), 'application/octet-stream')
    const { process } = JSON.parse(body.subarray(5).toString())
    const { code, output } = await host.port.run(process.args.at(-1), 100_000)
    const bytes = Buffer.from(output)
    const events = [{ start: { pid: 1 } }]
    for (let at = 0; at < bytes.length; at += 1_000)
      events.push({ data: { stdout: bytes.subarray(at, at + 1_000).toString('base64') } })
    events.push(
      { keepalive: {} },
      { end: { ...(code && { exitCode: code }), exited: true, status: `exit status ${code}` } },
    )
    const messages = [...events.map((event) => [0, { event }]), [2, {}]].map(([flags, message]) => {
      const json = Buffer.from(JSON.stringify(message))
      const head = Buffer.from([flags, 0, 0, 0, 0])
      head.writeUInt32BE(json.length, 1)
      return Buffer.concat([head, json])
    })
    send(200, Buffer.concat(messages), 'application/connect+json')
  }
  return play(answer).then((played) => ({ ...played, known }))
}

export function playVercel(key) {
  /** By name: the session that runs, or `stopped`. */
  const known = new Map()
  const created = []
  const prolonged = []
  let next = 0
  const begin = (name) =>
    known.set(name, { id: `sbx_${++next}`, status: 'pending', startedAt: Date.now(), timeout: 300_000 })
  const sandboxOf = (name) => ({ sandbox: { name, currentSessionId: known.get(name).id }, routes: [] })
  const named = ({ name, request, url, send }) => {
    if (url.searchParams.get('projectId') !== 'project') return send(400, { error: { message: 'projectId' } })
    if (!known.has(name)) return send(404, { error: { code: 'not_found' } })
    if (request.method === 'DELETE') return send(200, { sandbox: known.delete(name) })
    if (known.get(name).status === 'stopped' && url.searchParams.get('resume') === 'true') begin(name)
    return send(200, sandboxOf(name))
  }
  const within = async ({ id, path, request, body, send, host }) => {
    const session = [...known.values()].find((each) => each.id === id)
    if (!session) return send(404, { error: { code: 'not_found' } })
    if (path === '') {
      const { status } = session
      // Seen once on the way, then there.
      if (status === 'pending') session.status = 'running'
      return send(200, { session: { ...session, status }, routes: [] })
    }
    if (session.status !== 'running') return send(410, { error: { code: 'sandbox_stopped' } })
    if (path === 'extend-timeout') return send(200, { session: prolonged.push(JSON.parse(body.toString()).duration) })
    if (path === 'fs/read')
      return send(200, await readFile(JSON.parse(body.toString()).path), 'application/octet-stream')
    if (path === 'fs/write') return send(200, await extracted(request, body, host))
    const { command, args, wait, logs } = JSON.parse(body.toString())
    if (command !== '/bin/bash' || !wait || !logs) return send(400, { error: { message: 'played for bash -c only' } })
    const { code, output } = await host.port.run(args.at(-1), 100_000)
    const started = { id: 'cmd_1', name: command, args, cwd: '/', exitCode: null }
    const lines = [{ command: started }]
    for (let at = 0; at < output.length; at += 1_000)
      lines.push({ stream: 'stdout', data: output.slice(at, at + 1_000) })
    lines.push({ stream: 'stderr', data: 'words beside\n' }, { command: { ...started, exitCode: code } })
    send(200, Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')), 'application/x-ndjson')
  }
  const answer = async ({ request, url, body, send, host }) => {
    if (request.headers.authorization !== `Bearer ${key}`) return send(403, { error: { code: 'forbidden' } })
    if (url.searchParams.get('teamId') !== 'team') return send(400, { error: { message: 'teamId' } })
    const [, , , name, id, ...rest] = url.pathname.split('/')
    if (name === 'sessions') return within({ id, path: rest.join('/'), request, body, send, host })
    if (name !== undefined) return named({ name, request, url, send })
    const wanted = JSON.parse(body.toString())
    if (wanted.projectId !== 'project') return send(400, { error: { message: 'projectId' } })
    created.push(wanted)
    begin(wanted.name)
    send(200, sandboxOf(wanted.name))
  }
  return play(answer).then((played) => ({ ...played, known, created, prolonged }))
}

/** Unpacks with tar, as the service does. */
function extracted(request, body, { root }) {
  if (request.headers['content-type'] !== 'application/gzip') throw new Error('not an archive')
  return new Promise((resolve, reject) => {
    const child = spawn('tar', ['-xzf', '-', '-C', request.headers['x-cwd']], {
      env: { PATH: process.env.PATH },
      cwd: dirname(root),
    })
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve({}) : reject(new Error(`tar: ${code}`))))
    child.stdin.end(body)
  })
}
