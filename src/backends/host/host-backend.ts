/** A backend made of a machine that somebody rents out. One per session; what it lacks is shell. */

import { BackendError, type Jobs } from '../../agent/model/backend.ts'
import type { PortableBackend, SnapshotEntry } from '../portable-backend.ts'
import { pack, unpack } from '../tar.ts'
import { exec, type Host } from './exec.ts'
import { listEntries, hostFiles } from './host-files.ts'
import type { HostOptions } from './host-port.ts'
import {
  archiveFormat,
  readJobOutput,
  readJobState,
  killJob,
  notRunningCode,
  removeAll,
  startJob,
  listTree,
  unpackPieces,
  writeJob,
} from './scripts.ts'
import { openScriptRunner } from './script-runner.ts'

/** Archives travel in pieces, so that no request and no memory has to hold all of one. */
const PIECE = 4 * 1024 * 1024

export function hostBackend(options: HostOptions): PortableBackend {
  const { kind, port, root, network, languages, memory, temporary = '/tmp' } = options
  const session = openScriptRunner(options)
  const place: Host = { scripts: session, port, root }
  const resolve = (path: string, cwd = root) => absolute(path, cwd, root)
  const tree = () => listEntries(place, listTree([root, temporary], session.state))
  return {
    kind,
    capabilities: { streaming: false, background: true, pty: true, network, languages, root },
    describe: () => options.describe,
    exec: (command, how) => exec(place, command, { ...how, cwd: resolve(how.cwd ?? root) }),
    files: hostFiles(place, resolve),
    jobs: jobsOf(place, resolve),
    resolve,
    tree: async () => (await tree()).toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    async *snapshot(wanted = () => true) {
      const paths = (await tree()).map(({ path }) => path).filter(wanted)
      if (paths.length) yield* packed(place, paths)
    },
    restore: (given) => unpacked(place, given),
    clear: async () => {
      const { code } = await session.run(removeAll(root, temporary, session.state))
      if (code !== 0) throw notRemoved()
    },
    async destroy() {
      await port.destroy()
      memory.write({})
    },
  }
}

function absolute(path: string, cwd: string, root: string): string {
  const parts: string[] = []
  const whole =
    path === '~' || path.startsWith('~/') ? root + path.slice(1) : path.startsWith('/') ? path : `${cwd}/${path}`
  for (const part of whole.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

function jobsOf({ scripts: session, port, root }: Host, resolve: (path: string) => string): Jobs {
  const at = (id: string) => `${session.state}/j-${encodeURIComponent(id)}`
  return {
    async start(id, command, { cwd = root, env = {}, timeoutMs }) {
      const { output } = await session.run(startJob(at(id), command, { cwd: resolve(cwd), env, timeoutMs }))
      return Number(/^\d+/.exec(output)?.[0] ?? Number.NaN) || undefined
    },
    async state(id) {
      const [word, code] = (await session.run(readJobState(at(id)))).output.trim().split(' ')
      if (word === 'exited') return { at: 'exited', exitCode: Number(code) }
      return { at: word === 'running' ? 'running' : 'lost' }
    },
    async output(id, from, max) {
      const bytes = await session.bytes(readJobOutput(at(id), from, max))
      const whole = withoutHalf(bytes, bytes.length === max)
      return { text: new TextDecoder().decode(whole), next: from + whole.length }
    },
    async write(id, text, close) {
      const bytes = new TextEncoder().encode(text)
      const sent = `${at(id)}/in-${crypto.randomUUID()}`
      if (bytes.length) await port.write(sent, bytes)
      const { code } = await session.run(writeJob(at(id), sent, close))
      if (code !== 0) throw refusedInput(code)
    },
    async kill(id) {
      await session.run(killJob(at(id)))
    },
  }
}

function refusedInput(code: number | null): BackendError {
  if (code === notRunningCode) return new BackendError('invalid', 'The job does not run any more, or its input is closed.')
  return new BackendError(
    'unavailable',
    'The job does not read its input; it may have taken a part of it.',
    'Look at its log before you send it again.',
  )
}

/** A character that is cut at the end comes with the next piece; what is no UTF-8 at all comes as it is. */
function withoutHalf(bytes: Uint8Array, isCut: boolean): Uint8Array {
  if (!isCut) return bytes
  for (let back = 1; back <= Math.min(3, bytes.length - 1); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) !== 0x80) return byte >= 0xc0 ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}

async function* packed({ scripts: session, port }: Host, paths: readonly string[]): AsyncGenerator<SnapshotEntry> {
  const at = `${session.state}/t-${crypto.randomUUID()}`
  await session.run(`mkdir -p '${at}'`)
  await port.write(`${at}/list`, new TextEncoder().encode(paths.map((path) => `${path.slice(1)}\0`).join('')))
  const script = `cd / && tar ${archiveFormat} --no-recursion --null -T '${at}/list' -cf - 2>/dev/null | split -b ${PIECE} -d -a 4 - '${at}/p'; ls '${at}' | grep -c ^p`
  const count = Number((await session.run(script, 600_000)).output.trim())
  let next = 0
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (next === count) controller.close()
      else controller.enqueue(await port.read(`${at}/p${String(next++).padStart(4, '0')}`))
    },
  })
  try {
    for await (const entry of unpack(stream)) yield { ...entry, path: `/${entry.path}` }
  } finally {
    await session.run(`rm -rf '${at}'`)
  }
}

async function unpacked(
  { scripts: session, port }: Host,
  given: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): Promise<void> {
  const at = `${session.state}/t-${crypto.randomUUID()}`
  await session.run(`mkdir -p '${at}'`)
  try {
    await sendPieces(port, at, given)
  } catch (error) {
    // They would take the room that the next try needs.
    await session.run(`rm -rf '${at}'`).catch(() => undefined)
    throw error
  }
  const { code, output } = await session.run(unpackPieces(at), 600_000)
  if (code !== 0) throw notUnpacked(output.trim())
}

async function sendPieces(
  port: Host['port'],
  at: string,
  given: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): Promise<void> {
  let [held, size, count]: [Uint8Array[], number, number] = [[], 0, 0]
  const flush = async () => {
    const bytes = new Uint8Array(await new Blob(held as Uint8Array<ArrayBuffer>[]).arrayBuffer())
    await port.write(`${at}/p${String(count++).padStart(4, '0')}`, bytes)
    held = []
    size = 0
  }
  for await (const chunk of pack(relative(given))) {
    held.push(chunk)
    size += chunk.length
    if (size >= PIECE) await flush()
  }
  await flush()
}

const notUnpacked = (said: string): BackendError =>
  new BackendError(
    'unavailable',
    `The machine could not take all files${said && `: ${said}`}`,
    'Make room on it, or choose another backend; then try again.',
  )

const notRemoved = (): BackendError =>
  new BackendError(
    'unavailable',
    'Files on the machine could not be removed.',
    'End what still uses them, or choose another backend; then try again.',
  )

async function* relative(given: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>): AsyncGenerator<SnapshotEntry> {
  for await (const entry of given) yield { ...entry, path: entry.path.slice(1) }
}
