// Runs programs for the process that has forked it (start-program.mjs), and ends with that.
import { spawn } from 'node:child_process'

process.on('disconnect', () => process.exit())
process.on('message', ({ id, program, words, options }) => {
  let isOver = false
  const answer = (result) => {
    if (!isOver && process.connected) process.send({ id, ...result })
    isOver = true
  }
  const refuse = ({ message, code }) => answer({ refused: { message, code } })
  try {
    const child = spawn(program, words, options)
    let output = ''
    child.stdin.end()
    child.stderr.resume()
    child.stdout.setEncoding('utf8').on('data', (part) => (output += part))
    child.on('error', refuse)
    child.on('close', (code) => answer({ code, output }))
  } catch (error) {
    refuse(error)
  }
})
