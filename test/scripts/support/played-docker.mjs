/**
 * Plays a container engine: the part of Docker's API that workerd uses, on a socket, and the client that wrangler and
 * `npm run dev:sandbox` call. Containers are folders, in which bubblewrap runs real processes. Images are only names.
 */

import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const canPlay = spawnSync('bwrap', ['--ro-bind', '/', '/', 'true']).status === 0

/** The port on which a network container takes requests of workerd. */
const ingressPort = '39001/tcp'
const readOnly = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/opt'].filter((path) => existsSync(path))
const copied = ['passwd', 'group', 'ld.so.cache', 'alternatives', 'ssl'].filter((name) => existsSync(`/etc/${name}`))

export async function playDocker() {
  const folder = mkdtempSync(join(tmpdir(), 'talaria-docker-'))
  const [socket, log] = [join(folder, 'docker.sock'), join(folder, 'log')]
  const engine = { folder, log, containers: new Map(), execs: new Map(), images: new Map() }
  const server = createServer((request, response) => void answer(engine, request, response))
  server.on('upgrade', (request, stream) => startExec(engine, request, stream))
  await new Promise((resolve) => server.listen(socket, resolve))
  const client = join(folder, 'docker')
  writeFileSync(
    client,
    `#!/bin/bash
printf 'client %s %s\\n' "$DOCKER_HOST" "$*" >> '${log}'
[ "$1" = build ] && cat > /dev/null
words=(); for word in "$@"; do words+=(--data-urlencode "word=$word"); done
exec curl -sfG --unix-socket "\${DOCKER_HOST#unix://}" "\${words[@]}" http://docker/client
`,
    { mode: 0o755 },
  )
  return {
    env: { WRANGLER_DOCKER_BIN: client, DOCKER_HOST: `unix://${socket}` },
    containers: engine.containers,
    log: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
    folderOf: (name) => join(folder, name),
    end: (name) => end(engine, name),
    pause: (name) => pause(engine, name, true),
    unpause: (name) => pause(engine, name, false),
    close() {
      for (const name of engine.containers.keys()) end(engine, name)
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function answer(engine, request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const url = new URL(request.url, 'http://docker')
  if (url.pathname !== '/client') appendFileSync(engine.log, `api ${request.method} ${request.url}\n`)
  const [status, value] = await route(engine, { method: request.method, url, body })
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? {})
  response.writeHead(status, { 'content-type': 'application/json' }).end(status === 204 ? undefined : text)
}

async function route(engine, { method, url, body }) {
  const [, kind, name, action] = url.pathname.split('/')
  if (kind === 'client') return [200, runClient(engine, url.searchParams.getAll('word'))]
  if (kind === 'networks') return [200, { IPAM: { Config: [{ Subnet: '127.0.0.0/8', Gateway: '127.0.0.1' }] } }]
  if (kind === 'images') return [200, { Id: 'sha256:1', Config: {}, RepoTags: [] }]
  if (kind === 'volumes') return [200, { Volumes: [] }]
  if (kind === 'version') return [200, { ApiVersion: '1.47', Version: '28.0.0' }]
  if (kind === 'exec') return [200, describeExec(engine.execs.get(name))]
  if (kind === 'containers' && name === 'create') return create(engine, url.searchParams.get('name'), JSON.parse(body))
  return kind === 'containers'
    ? ofContainer(engine, { method, name, action, url, body })
    : [404, { message: url.pathname }]
}

function create(engine, name, request) {
  if (engine.containers.has(name)) return [409, { message: `The name ${name} is in use.` }]
  makeRoot(join(engine.folder, name))
  const container = { name, image: request.Image, request, isRunning: false, waiting: [], processes: new Set() }
  container.ended = new Promise((resolve) => (container.resolve = resolve))
  engine.containers.set(name, container)
  return [201, { Id: name, Warnings: [] }]
}

async function ofContainer(engine, { method, name, action, url, body }) {
  const container = engine.containers.get(name)
  if (!container) return [404, { message: `No such container: ${name}` }]
  if (method === 'DELETE' || action === 'kill' || action === 'stop') return [204, end(engine, name)]
  if (action === 'json') return [200, describe(container)]
  if (action === 'wait') return [200, { StatusCode: await container.ended }]
  if (action === 'start') return [204, await start(engine, container)]
  if (action === 'archive') return [200, unpack(join(engine.folder, name, url.searchParams.get('path')), body)]
  if (action !== 'exec') return [404, { message: action }]
  if (!container.isRunning) return [409, { message: `container ${name} is not running` }]
  if (container.isPaused) return [409, { message: `Container ${name} is paused, unpause the container before exec` }]
  const id = crypto.randomUUID()
  engine.execs.set(id, { id, container, request: JSON.parse(body), isRunning: false, exitCode: null, pid: 0 })
  return [201, { Id: id }]
}

/** A network container is a server that accepts everything. */
async function start(engine, container) {
  container.isRunning = true
  if (!container.name.endsWith('-proxy')) return
  container.server = createServer((request, response) => {
    appendFileSync(engine.log, `network ${request.method} ${request.url}\n`)
    response.end('-----BEGIN CERTIFICATE-----\nplayed\n-----END CERTIFICATE-----\n')
  })
  await new Promise((resolve) => container.server.listen(0, '127.0.0.1', resolve))
}

function makeRoot(root) {
  for (const path of ['workspace', 'tmp', 'root', 'etc', 'dev/shm']) mkdirSync(join(root, path), { recursive: true })
  for (const name of copied) spawnSync('cp', ['-a', `/etc/${name}`, join(root, 'etc')])
}

function unpack(at, archive) {
  mkdirSync(at, { recursive: true })
  spawnSync('tar', ['-xf', '-', '-C', at], { input: archive })
}

function end(engine, name) {
  const container = engine.containers.get(name)
  if (!container) return
  engine.containers.delete(name)
  container.isRunning = false
  for (const { pid } of container.processes) killGroup(pid)
  container.server?.closeAllConnections()
  container.server?.close()
  container.resolve(137)
  rmSync(join(engine.folder, name), { recursive: true, force: true, maxRetries: 5 })
}

function pause(engine, name, isPaused) {
  const container = engine.containers.get(name)
  container.isPaused = isPaused
  for (const { pid } of container.processes) killGroup(pid, isPaused ? 'SIGSTOP' : 'SIGCONT')
}

function killGroup(pid, signal = 'SIGKILL') {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}

function describe({ name, image, isRunning, server, request }) {
  const port = server?.address().port
  const ports = port === undefined ? {} : { [ingressPort]: [{ HostIp: '127.0.0.1', HostPort: String(port) }] }
  return {
    Id: name,
    Name: `/${name}`,
    Image: image,
    State: { Status: isRunning ? 'running' : 'created', Running: isRunning, ExitCode: 0 },
    Config: { Image: image, Labels: request.Labels ?? {}, Env: request.Env ?? [] },
    HostConfig: request.HostConfig ?? {},
    NetworkSettings: { Ports: ports },
  }
}

const describeExec = (exec) => ({
  ID: exec.id,
  Running: exec.isRunning,
  ExitCode: exec.exitCode,
  Pid: exec.pid,
})

/** Runs the process of an exec on an upgraded connection, whose output is in frames. */
function startExec(engine, request, stream) {
  appendFileSync(engine.log, `api upgrade ${request.url}\n`)
  const exec = engine.execs.get(request.url.split('/')[2])
  const { container, request: given } = exec
  stream.write(
    'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n',
  )
  const root = join(engine.folder, container.name)
  const binds = readOnly.flatMap((path) => ['--ro-bind', path, path])
  const env = (given.Env ?? []).flatMap((pair) => [
    '--setenv',
    pair.slice(0, pair.indexOf('=')),
    pair.slice(pair.indexOf('=') + 1),
  ])
  const words = [
    '--bind',
    root,
    '/',
    ...binds,
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--bind',
    join(root, 'dev/shm'),
    '/dev/shm',
    ...env,
    '--chdir',
    given.WorkingDir ?? '/',
    '--',
    ...given.Cmd,
  ]
  const child = spawn('bwrap', words, { detached: true, stdio: 'pipe', env: { PATH: process.env.PATH } })
  exec.isRunning = true
  exec.pid = child.pid
  container.processes.add(child)
  const send = (type) => (chunk) => {
    const head = Buffer.alloc(8)
    head[0] = type
    head.writeUInt32BE(chunk.length, 4)
    stream.write(Buffer.concat([head, chunk]))
  }
  child.stdout.on('data', send(1))
  child.stderr.on('data', send(2))
  child.stdin.on('error', () => {})
  stream.on('error', () => {})
  if (given.AttachStdin) stream.pipe(child.stdin)
  else child.stdin.end()
  child.on('close', (code) => {
    exec.isRunning = false
    exec.exitCode = code ?? 137
    container.processes.delete(child)
    stream.end()
  })
}

/** What the client prints. */
function runClient(engine, [command, ...words]) {
  const after = (option) => words[words.indexOf(option) + 1]
  if (command === 'build') {
    const label = words.find((word) => word.startsWith('TALARIA_SERVER='))?.split('=')[1]
    engine.images.set(after('-t'), label)
  }
  if (command === 'rm') for (const name of words.filter((word) => !word.startsWith('-'))) end(engine, name)
  if (command === 'cp') {
    const [name, path] = words[0].split(':')
    spawnSync('cp', ['-a', join(engine.folder, name, path), words[1]])
  }
  if (command !== 'ps') return '\n'
  const [filter = '', value = ''] = words.includes('--filter') ? after('--filter').split(/=(.*)/s) : []
  const isListed = ({ isRunning, image }) => {
    if (filter === 'ancestor') return image === value
    if (filter === 'label') return isRunning && `talaria.server=${engine.images.get(image)}` === value
    return isRunning
  }
  return [...engine.containers.values()]
    .filter(isListed)
    .map(({ name }) => `${name}\n`)
    .join('')
}
