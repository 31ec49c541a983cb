// Runs programs from a small process beside this one. Node starts a program by a fork, which copies the page tables of its
// memory: from a worker with 500 MB it takes ten times as long.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const running = new Map()
let starter
let count = 0

function openStarter() {
  const child = fork(fileURLToPath(new URL('program-starter.mjs', import.meta.url)), { execArgv: [] })
  child.on('message', ({ id, refused, ...result }) => {
    const { resolve, reject } = running.get(id)
    running.delete(id)
    if (running.size === 0) child.channel.unref()
    if (refused) reject(Object.assign(new Error(refused.message), { code: refused.code }))
    else resolve(result)
  })
  child.unref()
  return child
}

/** Runs a program without input to its end. Its code is null when it was killed. */
export function runProgram(program, words, options) {
  starter ??= openStarter()
  starter.channel.ref()
  const id = count++
  return new Promise((resolve, reject) => {
    running.set(id, { resolve, reject })
    starter.send({ id, program, words, options })
  })
}
