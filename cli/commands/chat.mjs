/** `talaria chat`: sends one message, also from standard input, or talks line by line. `-z` prints the answer alone. */

import { createInterface } from 'node:readline'
import { askPerson } from '../ask.mjs'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits, UsageError } from '../exits.mjs'
import { chatAndFollow } from '../follow.mjs'
import { note } from '../output.mjs'

export async function run({ options, words, usage }) {
  const client = createClient(requireConfig())
  const text = await readText(words, options, usage)
  if ([options.session, options.last, options.project].filter(Boolean).length > 1)
    throw new UsageError(`talaria ${usage}`)
  const session = await findSession(client, options)
  const { model, mode } = options
  const body = { ...(model && { model }), ...(mode && { mode }) }
  const way = { session, show: viewOf(options), ask: hasPerson(options) ? askPerson : undefined }
  const send = (input) => chatAndFollow(client, { ...way, body: { ...body, input } })
  if (text.trim()) return send(text)
  note(`Session ${session}. An empty line ends.`)
  return talk(send)
}

/** Without words, input that no person types is one message. Empty: a person talks line by line. */
async function readText(words, { final }, usage) {
  const isPiped = words[0] === '-' || (!words.length && !process.stdin.isTTY)
  const text = isPiped ? await readInput() : words.join(' ')
  if (final && !text.trim()) throw new UsageError('talaria -z TEXT, or a text on standard input')
  if (isPiped && !text.trim()) throw new UsageError(`There is no text on standard input.\n\ntalaria ${usage}`)
  return text
}

const viewOf = ({ json, final }) => (json ? 'json' : final ? 'final' : 'text')
const hasPerson = ({ json, final }) => process.stdin.isTTY && process.stderr.isTTY && !final && !json

async function readInput() {
  let text = ''
  for await (const part of process.stdin.setEncoding('utf8')) text += part
  return text
}

async function findSession(client, { session, last, model, project }) {
  if (session) return session
  const fields = { source: 'cli', ...(model && { model }), ...(project && { project_id: project }) }
  if (!last) return (await client.call('POST', '/api/sessions', fields)).body.id
  const [newest] = (await client.get('/api/sessions?limit=1&source=cli')).data
  if (!newest) throw new UsageError('There is no session yet.')
  return newest.id
}

/** Each line is one message. The exit code is that of the last run. */
async function talk(send) {
  let code = exits.done
  for (;;) {
    const line = await readLine()
    if (!line?.trim()) return code
    code = await send(line)
  }
}

/** A new reader for each line: a running answer must not compete for the keys. */
function readLine() {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' })
  return new Promise((resolve) => {
    terminal.once('line', (line) => {
      resolve(line)
      terminal.close()
    })
    terminal.once('close', () => resolve(undefined))
    terminal.prompt()
  })
}
