// Implements background jobs. A job is a folder and a shell that supervises it (job.sh); both outlive this server. A job
// that provably neither runs nor has written its exit code is `lost`.

import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { absolute, checkEnvironment, commandLine } from './command.mjs'
import { bounded, killGroup } from './exec.mjs'
import { maxMeasureAge, requestDefaults } from './limits.mjs'
import { fromFileSystemError, ProtocolError } from './protocol-error.mjs'

const supervisor = fileURLToPath(new URL('job.sh', import.meta.url))
const idPattern = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$/
/** Ended jobs that are kept. */
const maxEnded = 100
const maxOutputBytes = 1024 * 1024
const maxInputChars = 1024 * 1024
const timeoutMs = 5_000

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const textOf = (path) =>
  readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  )

export function openJobs({ workspaces, sandbox, limits, tenants, slots }) {
  /** Names of workspaces in which jobs may run. Those of earlier servers are added once. */
  const busy = new Set()
  let hasScanned = false
  /** Starts take turns, so that two cannot take the same last place. */
  let starting = Promise.resolve()

  function folderOf(workspace, id) {
    if (!idPattern.test(id))
      throw new ProtocolError('invalid', 'A job id has 1 to 128 characters of A-Z, a-z, 0-9 and _ . : -')
    return join(workspace.jobs, id)
  }

  function start(name, id, request) {
    const started = starting.then(() => startNext(name, id, request))
    starting = started.catch(() => undefined)
    return started
  }

  async function startNext(name, id, request) {
    if (typeof request.command !== 'string' || request.command.includes('\0'))
      throw new ProtocolError('invalid', '`command` must be text without NUL.')
    const ms = bounded('timeoutMs', request.timeoutMs ?? requestDefaults.jobMs, limits.JOB_MS)
    const workspace = await workspaces.open(name)
    const folder = folderOf(workspace, id)
    const known = await stateOf(folder)
    if (known) return { created: false, ...known, pid: await pidOf(folder) }
    await workspaces.requireSpace(workspace)
    await makeRoom(workspace)
    await requirePlace(name)
    const env = checkEnvironment(request.env)
    const where = { workspace, tenant: tenants.of(name), sandbox, limits }
    const line = commandLine({ ...where, env, cwd: absolute(request.cwd), ms, job: true })
    if (!(await claim(folder, { command: request.command, options: line.options })))
      return { created: false, ...(await stateOf(folder)), pid: await pidOf(folder) }
    const events = sandbox.cgroups?.memoryEvents(name, where.tenant) ?? ''
    const words = [supervisor, folder, String(Math.ceil(ms / 1000)), String(limits.JOB_OUTPUT_BYTES), events]
    const child = spawn('/bin/bash', [...words, line.file, ...line.args], {
      cwd: '/',
      env: line.env,
      detached: true,
      stdio: 'ignore',
    })
    child.unref()
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    await waitForFile(folder, ['stat', 'exit'])
    busy.add(name)
    return { created: true, ...(await stateOf(folder)), pid: await pidOf(folder) }
  }

  /** Creates the folder atomically. Returns false when another request has created it. */
  async function claim(folder, files) {
    const draft = `${folder}~${process.pid}~${Math.random().toString(36).slice(2)}`
    await mkdir(draft, { mode: 0o700 })
    for (const [name, text] of Object.entries({ ...files, out: '' }))
      await writeFile(join(draft, name), text, { mode: 0o600 })
    try {
      await rename(draft, folder)
      return true
    } catch (error) {
      await rm(draft, { recursive: true, force: true })
      if (['EEXIST', 'ENOTEMPTY'].includes(error.code)) return false
      throw error
    }
  }

  async function makeRoom(workspace) {
    const all = await list(workspace)
    const running = all.filter(({ state }) => state.at === 'running')
    if (running.length >= limits.JOBS)
      throw new ProtocolError('busy', `${running.length} jobs run already.`, 'Kill one, or wait for one to end.')
    const over = all.filter(({ state }) => state.at !== 'running').toSorted((a, b) => a.startedAt - b.startedAt)
    for (const { id } of over.slice(0, Math.max(0, over.length - maxEnded)))
      await rm(folderOf(workspace, id), { recursive: true, force: true })
  }

  /** Throws when the tenant, or all tenants together, have as many jobs as they may. */
  async function requirePlace(name) {
    await scan()
    const counts = await Promise.all([...busy].map(async (each) => [each, await countRunning(each)]))
    const sumOf = (isCounted) => counts.reduce((sum, [each, count]) => sum + (isCounted(each) ? count : 0), 0)
    const ofTenant = sumOf((each) => tenants.of(each) === tenants.of(name))
    if (ofTenant >= limits.TENANT_JOBS)
      throw new ProtocolError('busy', `${ofTenant} jobs of this tenant run already.`, 'Wait for one to end.')
    const all = sumOf(() => true)
    if (all >= limits.ALL_JOBS || !slots.hasMemory(name))
      throw new ProtocolError('busy', `This server runs as many jobs as it can (${all}).`, 'Try again later.')
  }

  const countRunning = async (name) =>
    (await list(workspaces.at(name))).filter(({ state }) => state.at === 'running').length

  /** Finds the jobs of earlier servers once. */
  async function scan() {
    if (!hasScanned) for (const name of await workspaces.names()) busy.add(name)
    hasScanned = true
  }

  async function list(workspace) {
    const names = await readdir(workspace.jobs).catch(() => [])
    const jobs = names
      .filter((id) => idPattern.test(id))
      .map(async (id) => {
        const folder = join(workspace.jobs, id)
        const { birthtimeMs = 0 } = await stat(folder).catch(() => ({}))
        return { id, startedAt: Math.round(birthtimeMs), ...(await stateOf(folder)) }
      })
    return (await Promise.all(jobs)).filter(({ state }) => state)
  }

  async function required(name, id) {
    const workspace = workspaces.at(name)
    const folder = folderOf(workspace, id)
    const known = await stateOf(folder)
    if (!known) throw new ProtocolError('missing', `No such job: ${id}`)
    return { folder, ...known }
  }

  async function output(name, id, { from, max }) {
    const { folder, state } = await required(name, id)
    const file = await open(join(folder, 'out'), 'r')
    try {
      const { size } = await file.stat()
      const length = Math.max(0, Math.min(size - from, max, maxOutputBytes))
      const bytes = Buffer.alloc(length)
      const { bytesRead } = length ? await file.read(bytes, 0, length, from) : { bytesRead: 0 }
      const whole = trimPartialCharacter(
        bytes.subarray(0, bytesRead),
        state.at !== 'running' && from + bytesRead >= size,
      )
      return {
        text: whole.toString('utf8'),
        next: from + whole.length,
        size,
        truncated: size >= limits.JOB_OUTPUT_BYTES,
        state,
      }
    } finally {
      await file.close()
    }
  }

  async function write(name, id, { text = '', close = false }) {
    if (typeof text !== 'string' || text.length > maxInputChars)
      throw new ProtocolError('invalid', '`text` must be text below 1 MiB.')
    const { folder, state } = await required(name, id)
    if (state.at !== 'running') throw new ProtocolError('conflict', 'The job does not run any more.')
    if (text !== '') await writeInput(join(folder, 'in'), Buffer.from(text))
    if (close) await killChildOf(folder, 'holder')
    return { state }
  }

  async function kill(name, id) {
    const { folder, state } = await required(name, id)
    if (state.at !== 'running') return { state }
    await setReason(folder, 'stopped')
    // Repeated until the exit file exists, because at first a command is not yet in a group of its own.
    await waitForFile(folder, ['exit'], () => killChildOf(folder, 'child'))
    return stateOf(folder)
  }

  /** Kills the jobs of every workspace that exceeds its disk limit. */
  async function killOverLimit() {
    await scan()
    for (const name of [...busy]) {
      const workspace = workspaces.at(name)
      busy.delete(name)
      const running = (await list(workspace)).filter(({ state }) => state.at === 'running')
      if (running.length === 0) continue
      busy.add(name)
      if ((await workspaces.usedBytes(workspace, maxMeasureAge(limits))) <= limits.DISK_BYTES) continue
      for (const { id } of running) {
        await setReason(folderOf(workspace, id), 'disk')
        await kill(name, id)
      }
    }
  }

  return {
    /** Workspaces in which jobs may run. */
    workspaces: () => busy,
    start,
    killOverLimit,
    output,
    write,
    kill,
    state: async (name, id) => ({ state: (await required(name, id)).state }),
    list: (name) => list(workspaces.at(name)),
    /** Must be called before a workspace is removed. */
    async killAll(name) {
      for (const { id, state } of await list(workspaces.at(name))) if (state.at === 'running') await kill(name, id)
    },
  }
}

/** The first reason for which a job was killed stays. */
const setReason = (folder, reason) =>
  writeFile(join(folder, 'reason'), reason, { flag: 'wx', mode: 0o600 }).catch(() => undefined)

/** Process group of the command on this host; null when it could not be started. */
const pidOf = async (folder) => Number(await textOf(join(folder, 'child'))) || null

/** Undefined when there is no such job. */
async function stateOf(folder) {
  const ended = await endOf(folder)
  if (ended) return { state: ended }
  if ((await stat(folder).catch(() => undefined)) === undefined) return undefined
  if (await supervisorOf(folder)) return { state: { at: 'running' } }
  // It may have ended between the two checks.
  return { state: (await endOf(folder)) ?? { at: 'lost' } }
}

async function endOf(folder) {
  const code = await textOf(join(folder, 'exit'))
  if (!code) return undefined
  const { mtimeMs } = await stat(join(folder, 'exit'))
  const endedMsAgo = Math.max(0, Math.round(Date.now() - mtimeMs))
  const [exitCode, found] = code.split(' ')
  // A job may have ended by itself when it was about to be killed.
  const reason = (exitCode === '137' && (await textOf(join(folder, 'reason')))) || found
  return { at: 'exited', exitCode: Number(exitCode), ...(reason && { reason }), endedMsAgo }
}

/** Returns the id of a job's supervisor, if the same process still lives: same boot, id and start time. */
async function supervisorOf(folder) {
  const [then, boot, bootNow] = await Promise.all([
    textOf(join(folder, 'stat')),
    textOf(join(folder, 'boot')),
    textOf('/proc/sys/kernel/random/boot_id'),
  ])
  if (!then || !boot || boot !== bootNow) return undefined
  const pid = then.slice(0, then.indexOf(' '))
  const now = await textOf(`/proc/${pid}/stat`)
  return now && fieldsOf(now).started === fieldsOf(then).started && fieldsOf(now).state !== 'Z' ? pid : undefined
}

/** Parses /proc/PID/stat. The program name in parentheses may contain anything, so fields are counted after it. */
function fieldsOf(line) {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0], parent: fields[1], started: fields[19] }
}

/** Kills the process group of the command, or the holder of its input, if it still is a child of the supervisor. */
async function killChildOf(folder, name) {
  const [parent, pid] = [await supervisorOf(folder), await textOf(join(folder, name))]
  if (!parent || !pid) return
  const now = await textOf(`/proc/${pid}/stat`)
  if (!now || fieldsOf(now).parent !== parent) return
  if (name === 'child') killGroup(Number(pid))
  else process.kill(Number(pid), 'SIGKILL')
}

/** Waits until one of these files exists, and runs `meanwhile` before each check. */
async function waitForFile(folder, names, meanwhile = () => undefined) {
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline;) {
    for (const name of names) if (await textOf(join(folder, name))) return
    await meanwhile()
    await pause(10)
  }
}

/** Writes to the input pipe, with a timeout: a pipe that is not read takes only 64 KiB. */
async function writeInput(path, bytes) {
  let file
  try {
    file = await open(path, constants.O_WRONLY | constants.O_NONBLOCK)
    let done = 0
    for (const deadline = Date.now() + timeoutMs; done < bytes.length;) {
      const { bytesWritten } = await file.write(bytes, done).catch((error) => {
        if (error.code === 'EAGAIN') return { bytesWritten: 0 }
        throw error
      })
      done += bytesWritten
      if (done < bytes.length && Date.now() > deadline)
        throw new ProtocolError(
          'busy',
          `The job does not read its input; ${done} of ${bytes.length} bytes were written.`,
        )
      if (bytesWritten === 0) await pause(20)
    }
  } catch (error) {
    if (['ENXIO', 'EPIPE', 'ENOENT'].includes(error.code))
      throw new ProtocolError('conflict', 'The input of the job is closed.')
    throw fromFileSystemError(error, 'in')
  } finally {
    await file?.close()
  }
}

/** Drops a character that is cut at the end, unless the output is complete. */
function trimPartialCharacter(bytes, isAll) {
  if (isAll) return bytes
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back && bytes.length > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}
