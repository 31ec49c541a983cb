/**
 * `talaria chat`: sends one message, also from standard input, or talks line by line. `-z` prints the answer alone. Files go
 * with it by an option: text that another program has written must not choose files of this computer.
 */

import { createInterface } from 'node:readline'
import { askPerson } from '../ask.mjs'
import { findMentioned, readAttachments } from '../attach-files.mjs'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits, UsageError } from '../exits.mjs'
import { chatAndFollow } from '../follow.mjs'
import { note, plain } from '../output.mjs'

export async function run({ options, words, usage }) {
  const client = createClient(requireConfig())
  const files = readAttachments(options.file ?? [])
  const text = await readText(words, options, usage)
  if ([options.session, options.last, options.project].filter(Boolean).length > 1)
    throw new UsageError(`talaria ${usage}`)
  const session = await findSession(client, options)
  const { model, mode } = options
  const body = { ...(model && { model }), ...(mode && { mode }) }
  const way = { session, show: viewOf(options), ask: hasPerson(options) ? askPerson : undefined }
  const send = (input, attachments) =>
    chatAndFollow(client, { ...way, body: { ...body, input, ...(attachments.length && { attachments }) } })
  if (text.trim() || (files.length && !process.stdin.isTTY)) {
    hintAtFiles(text, options)
    return send(text, files)
  }
  note(`Session ${session}. An empty line ends.`)
  return talk(send, files)
}

/** The full-screen chat sends files that the text names by @, so somebody may expect it here. */
function hintAtFiles(text, { file = [] }) {
  for (const path of findMentioned(text, new Set(file))) note(`· ${plain(path)} stays here; -f ${plain(path)} sends it`)
}

/** Without words, input that no person types is one message. Empty: a person talks line by line. */
async function readText(words, { final, file = [] }, usage) {
  const isPiped = words[0] === '-' || (!words.length && !process.stdin.isTTY)
  const text = isPiped ? await readInput() : words.join(' ')
  if (text.trim() || file.length) return text
  if (final) throw new UsageError('talaria -z [-f FILE]… TEXT, or a text on standard input')
  if (isPiped) throw new UsageError(`There is no text on standard input.\n\ntalaria ${usage}`)
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

/** Each line is one message. The files go with the first one. The exit code is that of the last run. */
async function talk(send, files) {
  let code = exits.done
  let left = files
  for (;;) {
    const line = await readLine()
    if (!line?.trim()) return code
    code = await send(line, [...left, ...readAttachments(findMentioned(line))])
    left = []
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
