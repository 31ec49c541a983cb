// A command that somebody waits for. What happens is told as it happens; whatever happens, the last word is `exit`.
// A client that goes away takes its command with it.

import { spawn } from 'node:child_process'
import { absolute, checkEnvironment, commandLine, noDirectory, readEnd } from './command.mjs'
import { keepOutput } from './kept-output.mjs'
import { usual } from './limits.mjs'
import { Refusal } from './refusal.mjs'

const endBytes = 1024 * 1024
const beatMs = 5_000
/** How long output is waited for when all processes are gone. */
const drainMs = 2_000

export function openExecs({ workspaces, box, limits }) {
  const running = new Map()
  let all = 0

  /** One place for a command or a search, given back by what is returned. */
  function takePlace(name) {
    const here = running.get(name) ?? 0
    if (here >= limits.EXECS || all >= limits.ALL_EXECS)
      throw new Refusal(
        'busy',
        `Too many commands run at once (${here} here, ${all} in all).`,
        'Try again in a moment.',
      )
    running.set(name, here + 1)
    all++
    return () => {
      all--
      const left = running.get(name) - 1
      if (left > 0) running.set(name, left)
      else running.delete(name)
    }
  }

  async function prepare(name, request) {
    if (typeof request.command !== 'string' || request.command.includes('\0'))
      throw new Refusal('invalid', '`command` has to be text without NUL.')
    const ms = bounded('timeoutMs', request.timeoutMs ?? usual.execMs, limits.EXEC_MS)
    const maxOutput = Math.min(bounded('maxOutput', request.maxOutput ?? usual.outputBytes), limits.OUTPUT_BYTES)
    const workspace = await workspaces.open(name)
    await workspaces.requireSpace(workspace)
    return { workspace, ms, maxOutput, cwd: absolute(request.cwd), env: checkEnvironment(request.env) }
  }

  /** Resolves when it has ended. `emit` takes events, `signal` ends it early. */
  async function exec(name, request, { emit, signal }) {
    const free = takePlace(name)
    try {
      const prepared = await prepare(name, request)
      await runCommand({ ...prepared, request, emit, signal, box, limits, workspaces })
    } finally {
      free()
    }
  }

  return { exec, takePlace, count: () => all }
}

export function bounded(name, value, max = Number.MAX_SAFE_INTEGER) {
  if (!Number.isSafeInteger(value) || value < 1 || value > max)
    throw new Refusal('invalid', `\`${name}\` has to be a whole number from 1 to ${max}.`)
  return value
}

async function runCommand(task) {
  const { workspace, ms, maxOutput, cwd, env, request, emit, signal, box, limits } = task
  const line = commandLine({ workspace, box, limits, env, cwd, ms })
  const started = performance.now()
  const child = spawn(line.file, line.args, {
    cwd: '/',
    env: line.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
  const streams = feed(child, { request, options: line.options, maxOutput, emit })
  const ending = watch(child, { ms, signal, overDisk: () => isFull(task) })
  emit({ t: 'start' })
  const beat = setInterval(() => emit({ t: 'beat' }), beatMs)
  const { code, killed } = await ending.finally(() => clearInterval(beat))
  await drained(child)
  const truncated = streams.finish()
  const end = readEnd(streams.told(), { workspace, box, environment: line.environment, given: env, cwd })
  task.workspaces.changed(workspace)
  if (code.exit === noDirectory && !streams.hasTold())
    return emit({ t: 'error', code: 'invalid', message: `No such directory: ${cwd}`, hint: 'Create it first.' })
  if (!killed && code.exit === 1 && !streams.hasTold() && streams.isFromBubblewrap())
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

/** Errors of pipes mean that the other side has gone, which its end tells better. */
function feed(child, { request, options, maxOutput, emit }) {
  const [stdin, stdout, stderr, told, command, more] = child.stdio
  for (const stream of child.stdio) stream.on('error', () => {})
  stdin.end(request.stdin ?? '')
  command.end(request.command)
  more.end(options)
  const kept = [keepOutput('out', maxOutput, emit), keepOutput('err', maxOutput, emit)]
  stdout.on('data', kept[0].take)
  let complaint = ''
  stderr.on('data', (chunk) => {
    if (complaint.length < 100) complaint += chunk
    kept[1].take(chunk)
  })
  let words = Buffer.alloc(0)
  told.on('data', (chunk) => {
    words = Buffer.concat([words, chunk])
    if (words.length > endBytes) words = words.subarray(words.length - endBytes)
  })
  return {
    finish: () => kept.map((stream) => stream.end()).some((dropped) => dropped > 0),
    told: () => words,
    hasTold: () => words.length > 0,
    /** It says why it could not begin; a command that has begun tells its end. */
    isFromBubblewrap: () => complaint.startsWith('bwrap: '),
  }
}

/** Waits for the end of the process and brings it about when time, disk or client run out. */
function watch(child, { ms, signal, overDisk }) {
  return new Promise((resolve, reject) => {
    let killed
    const kill = (reason) => {
      killed ??= reason
      killGroup(child.pid)
    }
    const timer = setTimeout(() => kill('time'), ms)
    const disk = setInterval(() => void overDisk().then((full) => full && kill('disk')), 3_000)
    const onAbort = () => kill('client')
    const over = () => {
      clearTimeout(timer)
      clearInterval(disk)
      signal.removeEventListener('abort', onAbort)
    }
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    child.on('error', (error) => {
      over()
      reject(error)
    })
    child.on('exit', (exit, sent) => {
      over()
      // Without namespaces, what it left running would outlive it and hold its pipes.
      killGroup(child.pid)
      resolve({ code: numbered(exit, sent), killed })
    })
  })
}

/** A shell that was killed itself has no code; one that tells of a killed command has 128 and the signal. */
const numbered = (exit, sent) => ({ exit, signal: sent })

export function killGroup(pid) {
  try {
    if (pid) process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

async function isFull({ workspace, workspaces, limits }) {
  return (await workspaces.usedBytes(workspace, 2_500)) > limits.DISK_BYTES
}

/** What is still in the pipes when the process has ended. A process that fled its group does not hold us up for long. */
function drained(child) {
  const open = child.stdio.slice(1, 4).filter((stream) => !stream.readableEnded && !stream.destroyed)
  const ends = open.map((stream) => new Promise((resolve) => stream.once('close', resolve)))
  const late = new Promise((resolve) => setTimeout(resolve, drainMs))
  return Promise.race([Promise.all(ends), late]).then(() => child.stdio.forEach((stream) => stream.destroy()))
}
