// Starts programs for the process that has forked it (start-program.mjs), and ends with that.
import { spawn } from 'node:child_process'

const children = new Map()

process.on('disconnect', () => process.exit())
process.on('message', ({ id, start, input, isLast, kill }) => {
  if (start) return begin(id, start)
  const child = children.get(id)
  if (input) child?.stdin.write(input)
  if (isLast) child?.stdin.end()
  if (kill) child?.kill(kill)
})

function begin(id, { program, words, options }) {
  const send = (event) => process.connected && process.send({ id, ...event })
  const refuse = ({ message, code }) => send({ refused: { message, code } })
  try {
    const child = spawn(program, words, { ...options, stdio: 'pipe' })
    children.set(id, child)
    child.on('spawn', () => send({ isStarted: true }))
    child.on('error', refuse)
    child.on('close', (code) => {
      children.delete(id)
      send({ isEnded: true, code })
    })
    child.stdin.on('error', () => {})
    child.stdout.on('data', (output) => send({ output }))
    child.stderr.resume()
  } catch (error) {
    refuse(error)
  }
}
