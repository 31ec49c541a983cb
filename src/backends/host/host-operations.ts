/** Implements the operations of a host: everything that the port lacks is done by shell scripts. */

import { BackendError, type CommandState, type EndReason, type Jobs } from '#agent/core/backend.ts'
import { type PortableBackend, regeneratedFolders, type SnapshotEntry, type TreeEntry } from '../portable-backend.ts'
import { pack, unpack } from '../tar.ts'
import { exec, type ScriptHost } from './exec.ts'
import { hostFiles, parseTree } from './host-files.ts'
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
  unpackParts,
  writeJob,
} from './scripts.ts'
import { openScriptRunner } from './script-runner.ts'

/** Archives are transferred in parts, so that neither a request nor the memory holds a whole one. */
const partBytes = 4 * 1024 * 1024

export type HostOperations = Required<Pick<PortableBackend, 'exec' | 'files' | 'jobs'>> &
  Pick<PortableBackend, 'tree' | 'snapshot' | 'restore' | 'clear'>

export function openOperations(options: HostOptions, resolve: (path: string, cwd?: string) => string): HostOperations {
  const { port, root, temporary = '/tmp', serverFiles = [] } = options
  const scripts = openScriptRunner(options)
  const host: ScriptHost = { scripts, port, root, temporary }
  const foreign = [scripts.state, ...serverFiles]
  const tree = async (): Promise<readonly TreeEntry[]> => {
    const script = listTree({ paths: [root, temporary], foreign, shallow: regeneratedFolders })
    return parseTree(await scripts.readBytes(script), root)
  }
  return {
    exec: (command, execOptions) => exec(host, command, { ...execOptions, cwd: resolve(execOptions.cwd ?? root) }),
    files: hostFiles(host, resolve),
    jobs: jobsOf(host, resolve),
    tree: async () => (await tree()).toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    async *snapshot(isWanted = () => true) {
      const paths = (await tree()).map(({ path }) => path).filter(isWanted)
      if (paths.length) yield* readSnapshot(host, paths)
    },
    restore: (entries) => writeSnapshot(host, entries),
    clear: async () => {
      const { code } = await scripts.run(removeAll(root, temporary, foreign))
      if (code !== 0) throw clearError()
    },
  }
}

function jobsOf({ scripts, port, root }: ScriptHost, resolve: (path: string) => string): Jobs {
  const at = (id: string) => `${scripts.state}/j-${encodeURIComponent(id)}`
  return {
    async start(id, command, { cwd = root, env = {}, timeoutMs }) {
      const { output } = await scripts.run(startJob(at(id), command, { cwd: resolve(cwd), env, timeoutMs }))
      return Number(/^\d+/.exec(output)?.[0] ?? Number.NaN) || undefined
    },
    async state(id) {
      return parseJobState((await scripts.run(readJobState(at(id)))).output)
    },
    async output(id, from, max) {
      const bytes = await scripts.readBytes(readJobOutput(at(id), from, max))
      const whole = trimPartialCharacter(bytes, bytes.length === max)
      return { text: new TextDecoder().decode(whole), next: from + whole.length }
    },
    async write(id, text, close) {
      const bytes = new TextEncoder().encode(text)
      const inputFile = `${at(id)}/in-${crypto.randomUUID()}`
      if (bytes.length) await port.write(inputFile, bytes)
      const { code } = await scripts.run(writeJob(at(id), inputFile, close))
      if (code !== 0) throw inputError(code)
    },
    async kill(id) {
      await scripts.run(killJob(at(id)))
    },
  }
}

/** Parses what `readJobState` prints: `exited`, the time since the end, the exit code and perhaps the reason. */
function parseJobState(printed: string): CommandState {
  const [word, ago, code, reason] = printed.trim().split(/ +/)
  if (word === 'running') return { at: 'running' }
  if (word !== 'exited') return { at: 'lost', reason: word === 'missing' ? 'replaced' : 'restarted' }
  const endedMsAgo = Math.max(0, Number(ago))
  return { at: 'exited', exitCode: Number(code), ...(reason && { reason: reason as EndReason }), endedMsAgo }
}

function inputError(code: number | null): BackendError {
  if (code === notRunningCode)
    return new BackendError('invalid', 'The job does not run any more, or its input is closed.')
  return new BackendError(
    'unavailable',
    'The job does not read its input; it may have read a part of it.',
    'Look at its log before you send it again.',
  )
}

/** Leaves a character that is cut off for the next page. Bytes that are not UTF-8 stay as they are. */
function trimPartialCharacter(bytes: Uint8Array, isCut: boolean): Uint8Array {
  if (!isCut) return bytes
  for (let back = 1; back <= Math.min(3, bytes.length - 1); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) !== 0x80) return byte >= 0xc0 ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}

async function* readSnapshot({ scripts, port }: ScriptHost, paths: readonly string[]): AsyncGenerator<SnapshotEntry> {
  const at = `${scripts.state}/t-${crypto.randomUUID()}`
  await scripts.run(`mkdir -p '${at}'`)
  await port.write(`${at}/list`, new TextEncoder().encode(paths.map((path) => `${path.slice(1)}\0`).join('')))
  const script = `cd / && tar ${archiveFormat} --no-recursion --null -T '${at}/list' -cf - 2>/dev/null | split -b ${partBytes} -d -a 4 - '${at}/p'; ls '${at}' | grep -c ^p`
  const count = Number((await scripts.run(script, 600_000)).output.trim())
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
    await scripts.run(`rm -rf '${at}'`)
  }
}

async function writeSnapshot(
  { scripts, port }: ScriptHost,
  entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): Promise<void> {
  const at = `${scripts.state}/t-${crypto.randomUUID()}`
  await scripts.run(`mkdir -p '${at}'`)
  try {
    await sendParts(port, at, entries)
  } catch (error) {
    // The parts would take space that the next attempt needs.
    await scripts.run(`rm -rf '${at}'`).catch(() => undefined)
    throw error
  }
  const { code, output } = await scripts.run(unpackParts(at), 600_000)
  if (code !== 0) throw unpackError(output.trim())
}

async function sendParts(
  port: ScriptHost['port'],
  at: string,
  entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): Promise<void> {
  let [chunks, size, count]: [Uint8Array[], number, number] = [[], 0, 0]
  const flush = async () => {
    const bytes = new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer())
    await port.write(`${at}/p${String(count++).padStart(4, '0')}`, bytes)
    chunks = []
    size = 0
  }
  for await (const chunk of pack(relative(entries))) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= partBytes) await flush()
  }
  await flush()
}

const unpackError = (reason: string): BackendError =>
  new BackendError(
    'unavailable',
    `The host could not store all files${reason && `: ${reason}`}`,
    'Free some space on it, or choose another backend; then try again.',
  )

const clearError = (): BackendError =>
  new BackendError(
    'unavailable',
    'Files on the host could not be removed.',
    'End the processes that still use them, or choose another backend; then try again.',
  )

async function* relative(
  entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): AsyncGenerator<SnapshotEntry> {
  for await (const entry of entries) yield { ...entry, path: entry.path.slice(1) }
}
