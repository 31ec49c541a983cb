// Starts programs from a small process beside this one. Node starts a program by a fork, which copies the page tables of its
// memory: from a worker with 500 MB it takes ten times as long.
import { fork } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'

const programs = new Map()
let starter
let count = 0

function openStarter() {
  const path = fileURLToPath(new URL('program-starter.mjs', import.meta.url))
  const child = fork(path, { serialization: 'advanced', execArgv: [] })
  child.on('message', ({ id, ...event }) => programs.get(id)?.receive(event))
  child.unref()
  return child
}

/** The part of a `ChildProcess` that tests use. Standard error is read and dropped. */
class StartedProgram extends EventEmitter {
  stdout = new Readable({ read() {} })
  stdin = new Writable({
    write: (input, _encoding, done) => this.#send({ input }, done),
    final: (done) => this.#send({ isLast: true }, done),
  })
  #id = count++
  #signal
  #start = Promise.withResolvers()
  #abort = () => {
    this.kill()
    this.emit('error', this.#signal.reason)
  }

  constructor(program, words, { signal, ...options }) {
    super()
    this.#signal = signal
    starter ??= openStarter()
    starter.channel.ref()
    programs.set(this.#id, this)
    this.#send({ start: { program, words, options } })
  }

  /** Resolves when the program runs. */
  started = () => this.#start.promise

  kill(kill = 'SIGTERM') {
    this.#send({ kill })
  }

  #send(message, done) {
    starter.send({ id: this.#id, ...message }, done)
  }

  receive({ isStarted, output, refused, isEnded, code }) {
    if (isStarted) this.#begin()
    else if (output) this.stdout.push(output)
    else if (refused) this.#refuse(refused)
    else if (isEnded) void this.#end(code)
  }

  #begin() {
    this.#signal?.addEventListener('abort', this.#abort)
    this.#start.resolve(this)
    if (this.#signal?.aborted) setImmediate(this.#abort)
  }

  #refuse({ message, code }) {
    this.#leave()
    this.#start.reject(Object.assign(new Error(message), { code }))
  }

  async #end(code) {
    this.#leave()
    this.stdin.destroy()
    this.stdout.push(null)
    await finished(this.stdout).catch(() => undefined)
    this.emit('close', code)
  }

  #leave() {
    this.#signal?.removeEventListener('abort', this.#abort)
    programs.delete(this.#id)
    if (programs.size === 0) starter.channel.unref()
  }
}


/** Runs a program without input to its end. Its code is null when it was killed. */
export async function runProgram(program, words, options) {
  const child = await new StartedProgram(program, words, options).started()
  let output = ''
  child.stdin.end()
  child.stdout.setEncoding('utf8').on('data', (part) => (output += part))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}
