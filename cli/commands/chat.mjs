/**
 * `talaria chat`: sends one message, with what standard input has, or talks line by line. `-z` prints the answer alone. Files go
 * with it by an option: text that another program has written must not choose files of this computer.
 */

import { fstatSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { askPerson } from '../ask.mjs'
import { findMentioned, readAttachments } from '../attach-files.mjs'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits, UsageError } from '../exits.mjs'
import { chatAndFollow } from '../follow.mjs'
import { note, plain } from '../output.mjs'

const firstInputMs = 3_000

export async function run({ options, words, usage }) {
  const client = createClient(requireConfig())
  const files = readAttachments(options.file ?? [])
  const text = await readText(words, options, usage)
  if ([options.session, options.last, options.project].filter(Boolean).length > 1)
    throw new UsageError(`talaria ${usage}`)
  const send = createSender(client, options)
  if (text.trim() || (files.length && !process.stdin.isTTY)) {
    hintAtFiles(text, options)
    return send(text, files)
  }
  note('An empty line ends.')
  return talk(send, files)
}

/** A session is created with the first message, and goes again when the server refuses that. */
function createSender(client, options) {
  const { model, mode } = options
  const way = { show: viewOf(options), ask: hasPerson(options) ? askPerson : undefined }
  let session
  return async (input, attachments) => {
    const isNew = !session && !options.session && !options.last
    session ??= await findSession(client, options)
    if (isNew && way.ask) note(`Session ${session}`)
    const forget = async () => {
      // A key that may not delete leaves it.
      await client.call('POST', '/api/sessions/delete', { ids: [session] }).catch(() => undefined)
      session = undefined
    }
    const body = { input, ...(model && { model }), ...(mode && { mode }), ...(attachments.length && { attachments }) }
    return chatAndFollow(client, { ...way, session, body, ...(isNew && { onRefused: forget }) })
  }
}

/** The full-screen chat sends files that the text names by @, so somebody may expect it here. */
function hintAtFiles(text, { file = [] }) {
  for (const path of findMentioned(text, new Set(file))) note(`· ${plain(path)} stays here; -f ${plain(path)} sends it`)
}

/**
 * Words, and below them what another program has written. Without words, all input that no person types is the message.
 * Empty: a person talks line by line.
 */
async function readText(given, { final, file = [] }, usage) {
  const words = given.at(-1) === '-' ? given.slice(0, -1) : given
  const isPiped = words !== given || (!words.length && !process.stdin.isTTY)
  const input = isPiped ? await readInput() : await readBeside()
  const text = [words.join(' '), input].filter((part) => part.trim()).join('\n\n')
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

/**
 * Input beside words. A program that starts this one may leave its pipe open and write nothing, so only the first of it is
 * waited for, and not for long.
 */
async function readBeside() {
  const input = fstatSync(0)
  if (!input.isFIFO() && !input.isFile() && !input.isSocket()) return ''
  const hasBegun = await new Promise((resolve) => {
    const timer = setTimeout(resolve, firstInputMs, false)
    for (const event of ['readable', 'end', 'error'])
      process.stdin.once(event, () => resolve(clearTimeout(timer) ?? true))
  })
  if (hasBegun) return readInput()
  note(`· nothing came on standard input for ${firstInputMs / 1_000} s; end the text with - to wait for it`)
  process.stdin.destroy()
  return ''
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
