// Serves the sandbox protocol over HTTP (docs/sandbox-protocol.md): routes, authorization and errors.

import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { openArchive } from './archive.mjs'
import { openExecs } from './exec.mjs'
import { openFiles, rangeOf, streamOf } from './files.mjs'
import { listLanguages } from './isolation.mjs'
import { openJobs } from './jobs.mjs'
import { openOwnCommands } from './own-commands.mjs'
import { ProtocolError } from './protocol-error.mjs'
import { openSearch } from './search.mjs'
import { openSlots } from './slots.mjs'
import { openTenants } from './tenants.mjs'
import { openWorkspaces } from './workspaces.mjs'

export const protocol = 1
/** Bytes that are buffered for a slow client; beyond that its command is killed. */
const maxBufferedBytes = 32 * 1024 * 1024

export function createApp({ root, token, sandbox, limits, version }) {
  const workspaces = openWorkspaces(root, limits, (name, command) => own.run(name, command))
  const tenants = openTenants()
  const own = openOwnCommands({ workspaces, sandbox, limits, tenants })
  const slots = openSlots({
    limits,
    tenantOf: tenants.of,
    limitsMemory: !sandbox.cgroups,
    workspacesWithJobs: () => parts.jobs.workspaces(),
  })
  const parts = {
    workspaces,
    tenants,
    slots,
    execs: openExecs({ workspaces, sandbox, limits, tenants, slots }),
    sandbox,
    limits,
    version,
    token,
    boot: randomUUID(),
    jobs: openJobs({ workspaces, sandbox, limits, tenants, slots }),
    files: openFiles({ workspaces, own, limits }),
    search: openSearch({ workspaces, limits, slots }),
    archive: openArchive({ workspaces, own, limits, slots }),
  }
  const server = createServer({ maxHeaderSize: 16_384, requestTimeout: 600_000, headersTimeout: 20_000 })
  server.on('request', (request, response) => void handleRequest(parts, request, response))
  // Also removes groups that an earlier server left.
  sandbox.cgroups?.sweep()
  const sweepTimer = setInterval(() => sandbox.cgroups?.sweep(), 60_000)
  const measureTimer = setTimeout(checkDisks, limits.MEASURE_MS)
  async function checkDisks() {
    await parts.jobs.killOverLimit().catch((error) => console.error(error))
    measureTimer.refresh()
  }
  for (const timer of [sweepTimer, measureTimer]) {
    timer.unref()
    server.on('close', () => clearTimeout(timer))
  }
  return server
}

async function handleRequest(parts, request, response) {
  request.on('error', () => {})
  response.on('error', () => {})
  try {
    const url = new URL(request.url, 'http://server')
    if (!isAuthorized(request, parts.token)) return sendError(response, unauthorized())
    const route = matchRoute(request.method, url.pathname)
    parts.tenants.assign(route.names.ws ?? '', request.headers['x-talaria-tenant'])
    const call = { ...parts, request, response, query: url.searchParams, body: () => readJson(request, parts.limits) }
    const result = await route.handle({ ...call, ...route.names })
    if (result !== undefined) send(response, 200, result)
  } catch (error) {
    sendError(response, error)
  }
}

const digest = (text) => createHash('sha256').update(text).digest()
const isAuthorized = ({ headers }, token) =>
  timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`))
const unauthorized = () =>
  new ProtocolError(
    'unauthorized',
    'The key is missing or wrong.',
    'Send `Authorization: Bearer` with SANDBOX_HTTP_TOKEN.',
  )

function send(response, status, value) {
  const body = JSON.stringify(value)
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body)
}

function sendError(response, error) {
  const isProtocolError = error instanceof ProtocolError
  if (!isProtocolError) console.error(error)
  // The response has started: only a broken connection can report the error.
  if (response.headersSent) return response.destroy()
  const { status, code, message, hint } = isProtocolError
    ? error
    : { status: 500, code: 'internal', message: 'The server failed; its log has the reason.', hint: '' }
  if (code === 'busy') response.setHeader('retry-after', '1')
  // The request body was not read to its end, so the connection cannot be reused.
  response.setHeader('connection', 'close')
  send(response, status, { error: { code, message, hint } })
}

async function readJson(request, { BODY_BYTES }) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES) throw new ProtocolError('too_large', `The request may have ${BODY_BYTES} bytes.`)
    chunks.push(chunk)
  }
  try {
    const value = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}')
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value
  } catch {
    // reported below, together with JSON that is not an object
  }
  throw new ProtocolError('invalid', 'The body must be a JSON object.')
}

const routes = [
  ['GET', '/v1/health', health],
  ['GET', '/v1/w/:ws', describe],
  ['DELETE', '/v1/w/:ws', removeWorkspace],
  ['POST', '/v1/w/:ws/clear', async ({ ws, files }) => (await files.clear(ws), {})],
  ['POST', '/v1/w/:ws/exec', exec],
  ['GET', '/v1/w/:ws/jobs', async ({ ws, jobs }) => ({ jobs: await jobs.list(ws) })],
  ['PUT', '/v1/w/:ws/jobs/:id', async ({ ws, id, jobs, body }) => jobs.start(ws, id, await body())],
  ['GET', '/v1/w/:ws/jobs/:id', ({ ws, id, jobs }) => jobs.state(ws, id)],
  ['DELETE', '/v1/w/:ws/jobs/:id', ({ ws, id, jobs }) => jobs.kill(ws, id)],
  ['GET', '/v1/w/:ws/jobs/:id/output', jobOutput],
  ['POST', '/v1/w/:ws/jobs/:id/input', async ({ ws, id, jobs, body }) => jobs.write(ws, id, await body())],
  ['GET', '/v1/w/:ws/files', readFile],
  ['PUT', '/v1/w/:ws/files', writeFile],
  ['DELETE', '/v1/w/:ws/files', ({ ws, files, query }) => files.remove(ws, pathOf(query))],
  ['GET', '/v1/w/:ws/stat', async ({ ws, files, query }) => ({ stat: (await files.stat(ws, pathOf(query))) ?? null })],
  ['GET', '/v1/w/:ws/list', ({ ws, files, query }) => files.list(ws, pathOf(query))],
  ['GET', '/v1/w/:ws/tree', ({ ws, files, query }) => files.tree(ws, query.getAll('shallow'))],
  ['POST', '/v1/w/:ws/move', async ({ ws, files, body }) => files.move(ws, await body())],
  ['POST', '/v1/w/:ws/search', async ({ ws, search, body }) => search(ws, await body())],
  ['GET', '/v1/w/:ws/tar', readTar],
  ['PUT', '/v1/w/:ws/tar', writeTar],
].map(([method, pattern, handle]) => ({ method, pattern, handle, names: pattern.split('/') }))

function matchRoute(method, path) {
  const segments = path.split('/')
  const candidates = routes.filter(
    ({ names }) =>
      names.length === segments.length && names.every((name, i) => name.startsWith(':') || name === segments[i]),
  )
  const route = candidates.find((each) => each.method === method)
  if (!route) throw new ProtocolError(candidates.length ? 'invalid' : 'missing', `There is no ${method} ${path}.`)
  const names = route.names.flatMap((name, i) =>
    name.startsWith(':') ? [[name.slice(1), decodeSegment(segments[i])]] : [],
  )
  return { handle: route.handle, names: Object.fromEntries(names) }
}

function decodeSegment(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new ProtocolError('invalid', 'The path is not valid percent-encoding.')
  }
}

function pathOf(query) {
  const path = query.get('path')
  if (!path) throw new ProtocolError('invalid', '`path` is missing.')
  return path
}

function health({ sandbox, limits, version, boot, slots }) {
  const { isolation, limiting, network, egress } = sandbox
  const lowerLimits = Object.fromEntries(Object.entries(limits).map(([name, value]) => [name.toLowerCase(), value]))
  return {
    status: 'ok',
    protocol,
    version,
    boot,
    isolation,
    limiting,
    network,
    egress,
    root: '/workspace',
    languages: listLanguages(),
    running: slots.count(),
    waiting: slots.waiting(),
    limits: lowerLimits,
  }
}

async function describe({ ws, workspaces, jobs, limits }) {
  const exists = workspaces.exists(ws)
  const bytes = exists ? await workspaces.usedBytes(workspaces.at(ws)) : 0
  return { exists, bytes, limit: limits.DISK_BYTES, jobs: exists ? (await jobs.list(ws)).length : 0 }
}

async function removeWorkspace({ ws, workspaces, jobs, files, sandbox }) {
  await jobs.killAll(ws)
  if (workspaces.exists(ws)) await files.clear(ws)
  await workspaces.remove(ws)
  sandbox.cgroups?.sweep()
  return {}
}

/** Sends events as lines of JSON as they happen. Errors before the first event are normal error responses. */
async function exec({ ws, execs, response, body }) {
  const request = await body()
  const disconnected = new AbortController()
  response.on('close', () => response.writableFinished || disconnected.abort())
  const emit = (event) => {
    if (response.destroyed) return
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.write(`${JSON.stringify(event)}\n`)
    if (response.writableLength > maxBufferedBytes) disconnected.abort()
  }
  await execs.exec(ws, request, { emit, signal: disconnected.signal })
  response.end()
}

function jobOutput({ ws, id, jobs, query }) {
  const count = (name, otherwise) => {
    const value = Number(query.get(name) ?? otherwise)
    if (!Number.isSafeInteger(value) || value < 0)
      throw new ProtocolError('invalid', `\`${name}\` must be a whole number from 0.`)
    return value
  }
  return jobs.output(ws, id, { from: count('from', 0), max: count('max', 65_536) })
}

async function readFile({ ws, files, query, request, response }) {
  const file = await files.openRead(ws, pathOf(query))
  const range = rangeOf(request.headers.range, file.size)
  if (range === 'none') {
    await file.handle.close()
    response.writeHead(416, { 'content-range': `bytes */${file.size}` }).end()
    return
  }
  response.writeHead(range ? 206 : 200, {
    'content-type': 'application/octet-stream',
    'content-length': range ? range.end - range.start + 1 : file.size,
    'x-file-size': file.size,
    ...(range && { 'content-range': `bytes ${range.start}-${range.end}/${file.size}` }),
  })
  const content = streamOf(file, range)
  const { socket } = request
  await pipeline(content, response).catch(() => response.destroy())
  // A client would wait for the rest of a file that has become shorter.
  if (file.size > 0 && content.bytesRead < (range ? range.end - range.start + 1 : file.size)) socket.destroy()
}

const lengthOf = ({ headers }) => Number(headers['content-length'] ?? 0)

function writeFile({ ws, files, query, request }) {
  return files.write(ws, pathOf(query), { body: request, length: lengthOf(request) })
}

function readTar({ ws, archive, query, response }) {
  return archive.read(ws, { path: query.get('path') ?? '/workspace', exclude: query.getAll('exclude') }, response)
}

function writeTar({ ws, archive, query, request }) {
  return archive.write(ws, { path: query.get('path') ?? '/workspace', body: request, length: lengthOf(request) })
}
