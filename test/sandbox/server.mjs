/** Starts a sandbox server for a test: a real process on a free port, with a temporary folder. */

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export const token = 'a-key-for-tests-0123456789'

/** Runs a server of root as any other user: without the right to read all files. */
const asUser = ['--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-dac_override,-dac_read_search']

export async function startSandbox({ args = [], env = {}, root, isUser = false } = {}) {
  const folder = root ?? mkdtempSync(join(tmpdir(), 'talaria-sandbox-'))
  const server = join(import.meta.dirname, '../../sandbox/server.mjs')
  const command = [process.execPath, server, '--port', '0', ...args]
  const [program, ...words] = isUser && process.getuid() === 0 ? ['setpriv', ...asUser, ...command] : command
  const child = spawn(program, words, {
    env: {
      PATH: process.env.PATH ?? '',
      SANDBOX_ROOT: folder,
      SANDBOX_HTTP_TOKEN: token,
      SECRET_OF_HOST: 'visible?',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)))
  const url = await new Promise((resolve, reject) => {
    child.on('exit', () => reject(new Error(`The sandbox server ended: ${said}`)))
    child.stdout.on('data', () => {
      const [, address] = /on (http:\S+)\n[\s\S]*workspaces:/.exec(said) ?? []
      if (address) resolve(address)
    })
  })
  const kill = () => ended(child)
  return {
    url,
    root: folder,
    said: () => said,
    kill,
    async stop() {
      const names = workspacesUsed.filter((name) => existsSync(join(folder, name)))
      await Promise.all(names.map((name) => call(url, `/v1/w/${name}`, { method: 'DELETE' })))
      await kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  return gone
}

const workspacesUsed = []

/** A new name; the workspace and its processes are removed when the server is stopped. */
export function newWorkspace() {
  const name = `test-${crypto.randomUUID()}`
  workspacesUsed.push(name)
  return name
}

export const call = (url, path, init = {}) =>
  fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })

export function onDisk({ root }, workspace) {
  const at = (path) => join(root, workspace, 'home', path)
  const made = (path) => {
    mkdirSync(dirname(at(path)), { recursive: true })
    return at(path)
  }
  return {
    write: (path, text) => writeFileSync(made(path), text),
    link: (path, target) => symlinkSync(target, made(path)),
    text: (path) => (existsSync(at(path)) ? readFileSync(at(path), 'utf8') : undefined),
    pipe: (path) => void spawnSync('mkfifo', [made(path)]),
  }
}

/** Methods and paths of the OpenAPI document, with example names. */
export function documented(workspace) {
  const text = readFileSync(join(import.meta.dirname, '../../docs/sandbox-protocol.openapi.yaml'), 'utf8')
  let path = ''
  return text.split('\n').flatMap((line) => {
    path = /^ {2}(\/\S+):$/.exec(line)?.[1] ?? path
    const [, method] = /^ {4}(get|put|post|delete):$/.exec(line) ?? []
    return method ? [[method.toUpperCase(), path.replace('{ws}', workspace).replace('{id}', 'job')]] : []
  })
}
