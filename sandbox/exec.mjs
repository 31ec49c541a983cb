// Runs a command and emits its events as they happen; the last one is `exit`. When the client disconnects, the command
// is killed.

import { spawn } from 'node:child_process'
import { absolute, checkEnvironment, commandLine, noDirectoryCode, parseReport } from './command.mjs'
import { truncateOutput } from './truncate-output.mjs'
import { maxMeasureAge, requestDefaults } from './limits.mjs'
import { ProtocolError } from './protocol-error.mjs'

const maxReportBytes = 1024 * 1024
const beatIntervalMs = 5_000
/** Growth of folders by a command that began when the disk was full. */
const maxNamesBytes = 1024 * 1024
/** Time for remaining output after the process has ended. */
const drainTimeoutMs = 2_000

export function openExecs({ workspaces, sandbox, limits, tenants, slots }) {
  async function prepare(name, request) {
    if (typeof request.command !== 'string' || request.command.includes('\0'))
      throw new ProtocolError('invalid', '`command` must be text without NUL.')
    const ms = bounded('timeoutMs', request.timeoutMs ?? requestDefaults.execMs, limits.EXEC_MS)
    const maxOutput = Math.min(
      bounded('maxOutput', request.maxOutput ?? requestDefaults.outputBytes),
      limits.OUTPUT_BYTES,
    )
    const workspace = await workspaces.open(name)
    const usedBefore = await workspaces.usedBytes(workspace)
    return { workspace, usedBefore, ms, maxOutput, cwd: absolute(request.cwd), env: checkEnvironment(request.env) }
  }

  /** Resolves when the command has ended. `emit` receives events, `signal` kills the command. */
  async function exec(name, request, { emit, signal }) {
    const prepared = await prepare(name, request)
    const release = await slots.acquire(name, signal)
    try {
      const tenant = tenants.of(name)
      await runCommand({ ...prepared, tenant, request, emit, signal, sandbox, limits, workspaces })
    } finally {
      release()
    }
  }

  return { exec }
}

export function bounded(name, value, max = Number.MAX_SAFE_INTEGER) {
  if (!Number.isSafeInteger(value) || value < 1 || value > max)
    throw new ProtocolError('invalid', `\`${name}\` must be a whole number from 1 to ${max}.`)
  return value
}

async function runCommand(task) {
  const { workspace, tenant, ms, maxOutput, cwd, env, request, emit, signal, sandbox, limits, usedBefore } = task
  const isFull = usedBefore > limits.DISK_BYTES
  const line = commandLine({ workspace, tenant, sandbox, limits, env, cwd, ms, isFull })
  const started = performance.now()
  const child = spawn(line.file, line.args, {
    cwd: '/',
    env: line.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
  const streams = connectPipes(child, { request, bubblewrapOptions: line.options, maxOutput, emit })
  const ending = waitForEnd(child, { ms, signal, measureMs: limits.MEASURE_MS, overDisk: () => isOverDisk(task) })
  emit({ t: 'start' })
  if (isFull) emit({ t: 'err', d: fullNote(usedBefore, limits) })
  const beat = setInterval(() => emit({ t: 'beat' }), beatIntervalMs)
  const { code, killed } = await ending.finally(() => clearInterval(beat))
  await drainPipes(child)
  const truncated = streams.finish()
  const end = parseReport(streams.report(), { workspace, sandbox, environment: line.environment, given: env, cwd })
  task.workspaces.changed(workspace)
  if (code.exit === noDirectoryCode && !streams.hasReport())
    return emit({ t: 'error', code: 'invalid', message: `No such directory: ${cwd}`, hint: 'Create it first.' })
  if (!killed && code.exit === 1 && !streams.hasReport() && streams.isFromBubblewrap())
    return emit({ t: 'error', code: 'unavailable', message: 'The sandbox could not be started.', hint: 'Try again.' })
  emit({
    t: 'exit',
    code: killed === 'time' ? 124 : code.exit,
    signal: code.signal,
    timedOut: killed === 'time',
    ...(killed && killed !== 'time' && { reason: killed }),
    truncated,
    ...end,
    ms: Math.round(performance.now() - started),
  })
}

/** Connects the pipes of the process. Their errors are ignored: the end of the process reports them better. */
function connectPipes(child, { request, bubblewrapOptions, maxOutput, emit }) {
  const [stdin, stdout, stderr, report, command, options] = child.stdio
  for (const stream of child.stdio) stream.on('error', () => {})
  stdin.end(request.stdin ?? '')
  command.end(request.command)
  options.end(bubblewrapOptions)
  const outputs = [truncateOutput('out', maxOutput, emit), truncateOutput('err', maxOutput, emit)]
  stdout.on('data', outputs[0].write)
  let errorText = ''
  stderr.on('data', (chunk) => {
    if (errorText.length < 100) errorText += chunk
    outputs[1].write(chunk)
  })
  let reportBytes = Buffer.alloc(0)
  report.on('data', (chunk) => {
    reportBytes = Buffer.concat([reportBytes, chunk])
    if (reportBytes.length > maxReportBytes) reportBytes = reportBytes.subarray(reportBytes.length - maxReportBytes)
  })
  return {
    finish: () => outputs.map((stream) => stream.end()).some((dropped) => dropped > 0),
    report: () => reportBytes,
    hasReport: () => reportBytes.length > 0,
    /** Whether bubblewrap failed to start; a command that started writes a report. */
    isFromBubblewrap: () => errorText.startsWith('bwrap: '),
  }
}

/** Waits for the end of the process, and kills it on timeout, full disk or disconnect. */
function waitForEnd(child, { ms, signal, measureMs, overDisk }) {
  return new Promise((resolve, reject) => {
    let killed
    const kill = (reason) => {
      killed ??= reason
      killGroup(child.pid)
    }
    const timer = setTimeout(() => kill('time'), ms)
    const disk = setInterval(() => void overDisk().then((full) => full && kill('disk')), measureMs)
    const onAbort = () => kill('client')
    const clear = () => {
      clearTimeout(timer)
      clearInterval(disk)
      signal.removeEventListener('abort', onAbort)
    }
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    child.on('error', (error) => {
      clear()
      reject(error)
    })
    child.on('exit', (exit, sent) => {
      clear()
      // Without namespaces, remaining child processes would survive and keep the pipes open.
      killGroup(child.pid)
      resolve({ code: toExit(exit, sent), killed })
    })
  })
}

/** A killed shell has no exit code; a shell whose command was killed has 128 plus the signal. */
const toExit = (exit, sent) => ({ exit, signal: sent })

export function killGroup(pid) {
  try {
    if (pid) process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

/** A command that frees space begins above the limit. Names of empty files take space too. */
async function isOverDisk({ workspace, workspaces, limits, usedBefore }) {
  const allowed = Math.max(limits.DISK_BYTES, usedBefore + maxNamesBytes)
  return (await workspaces.usedBytes(workspace, maxMeasureAge(limits))) > allowed
}

const fullNote = (used, { DISK_BYTES }) =>
  `[The workspace has ${used} of ${DISK_BYTES} bytes. This command can remove files, but not write into any. Remove files that are not needed, then continue.]\n`

/** Waits for remaining output, up to a timeout: a process outside of the group may keep the pipes open. */
function drainPipes(child) {
  const open = child.stdio.slice(1, 4).filter((stream) => !stream.readableEnded && !stream.destroyed)
  const ends = open.map((stream) => new Promise((resolve) => stream.once('close', resolve)))
  const expired = new Promise((resolve) => setTimeout(resolve, drainTimeoutMs))
  return Promise.race([Promise.all(ends), expired]).then(() => child.stdio.forEach((stream) => stream.destroy()))
}
