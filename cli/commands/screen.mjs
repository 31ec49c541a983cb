/** `talaria` alone on a terminal: a full-screen chat with Markdown, calls, approvals by key, history, files and resume. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { emitKeypressEvents } from 'node:readline'
import { answerQuestion, decide } from '../ask.mjs'
import { findMentioned, readAttachments } from '../attach-files.mjs'
import { createClient, sessionPath } from '../client.mjs'
import { configPath, requireConfig } from '../config.mjs'
import { exits, UsageError } from '../exits.mjs'
import { note } from '../output.mjs'
import { decisionKeys, drawScreen } from '../screen/draw.mjs'
import { complete, emptyField, findMention, isEnter, paste, pressKey } from '../screen/field.mjs'
import { createTranscript } from '../screen/transcript.mjs'

const frameMs = 40
const maxHistory = 500
/** Somebody who types when an approval appears has not read it. */
const unreadMs = 500
const terminal = { enter: '\u001b[?1049h\u001b[?2004h', leave: '\u001b[?2004l\u001b[?1049l\u001b[?25h' }

export async function run({ options, usage }) {
  if (options.session && options.last) throw new UsageError(`talaria ${usage}`)
  const client = createClient(requireConfig())
  const screen = createScreen(client, options)
  await screen.open(options.session ?? (options.last ? await findLast(client) : undefined))
  await screen.done
  if (screen.view.session) note(`Session ${screen.view.session}. To go on: talaria -s ${screen.view.session}`)
  return exits.done
}

async function findLast(client) {
  const [newest] = (await client.get('/api/sessions?limit=1&source=cli')).data
  if (!newest) throw new UsageError('There is no session yet.')
  return newest.id
}

function createScreen(client, { model }) {
  const view = {
    client,
    model,
    session: undefined,
    title: 'New session',
    transcript: createTranscript(),
    field: emptyField,
    history: readHistory(),
    picker: undefined,
    scroll: 0,
    lastTop: undefined,
    following: undefined,
    isAway: false,
    asked: undefined,
    hasLeft: false,
    redraw: () => {},
    leave: () => {},
  }
  const done = new Promise((resolve) => {
    view.leave = () => {
      view.hasLeft = true
      view.following?.abort()
      resolve()
    }
  })
  return {
    view,
    done,
    async open(session) {
      if (session) await openSession(view, session)
      const close = openTerminal(view)
      void done.finally(close)
    },
  }
}

/** https://no-color.org */
// eslint-disable-next-line no-control-regex
const paint = process.env.NO_COLOR ? (line) => line.replaceAll(/\u001b\[[0-9;]*m/g, '') : (line) => line

/** Draws at most every 40 ms, and only lines that have changed. */
function openTerminal(view) {
  let [timer, before] = [undefined, []]
  const draw = () => {
    timer = undefined
    const { rows = 24, columns = 80 } = process.stdout
    const { lines, caret, ...place } = drawScreen(view, { rows, columns })
    // A list of files or sessions stands in the place of the transcript.
    if (!view.picker) Object.assign(view, place)
    const [first] = view.transcript.state.waiting
    if (view.asked?.id !== first?.id) view.asked = first && { id: first.id, at: Date.now() }
    const changed = lines.flatMap((line, at) =>
      line === before[at] ? [] : [`\u001b[${at + 1};1H${paint(`${line}\u001b[0m`)}\u001b[K`],
    )
    before = lines
    process.stdout.write(`\u001b[?25l${changed.join('')}\u001b[${caret.row + 1};${caret.column + 1}H\u001b[?25h`)
  }
  view.redraw = () => (timer ??= setTimeout(draw, frameMs))
  const onResize = () => {
    before = []
    view.lastTop = undefined
    process.stdout.write('\u001b[2J')
    view.redraw()
  }
  const onKey = createKeyReader(view)
  const forget = restoreAtExit()
  emitKeypressEvents(process.stdin)
  process.stdin.setRawMode?.(true)
  process.stdin.on('keypress', onKey).resume()
  process.stdout.on('resize', onResize).write(terminal.enter)
  draw()
  return () => {
    clearTimeout(timer)
    view.redraw = () => {}
    process.stdin.off('keypress', onKey).pause()
    process.stdin.setRawMode?.(false)
    process.stdout.off('resize', onResize).write(terminal.leave)
    forget()
  }
}

const signals = { SIGHUP: 129, SIGTERM: 143 }

/** The shell gets its screen back however the program ends. */
function restoreAtExit() {
  const restore = () => {
    try {
      process.stdin.setRawMode?.(false)
      writeSync(1, terminal.leave)
    } catch {
      // The terminal is gone.
    }
  }
  const handlers = Object.entries(signals).map(([name, code]) => [name, () => process.exit(code)])
  process.on('exit', restore)
  for (const [name, end] of handlers) process.on(name, end)
  return () => {
    process.off('exit', restore)
    for (const [name, end] of handlers) process.off(name, end)
  }
}

function createKeyReader(view) {
  let pasted
  return (text, key) => {
    if (key.name === 'paste-start') pasted = ''
    else if (key.name === 'paste-end') {
      view.field = paste(view.field, pasted ?? '')
      pasted = undefined
    } else if (pasted === undefined) press(view, text, key).catch((error) => fail(view, error))
    else pasted += text ?? ''
    view.redraw()
  }
}

function fail(view, error) {
  view.transcript.note(error.message)
  view.redraw()
}

const keys = {
  'ctrl+c': interrupt,
  'ctrl+r': openPicker,
  escape: stop,
  pageup: (view) => scroll(view, 1),
  pagedown: (view) => scroll(view, -1),
  tab: completePath,
}

async function press(view, text, key) {
  const name = key.ctrl ? `ctrl+${key.name}` : key.name
  if (name === 'ctrl+d' && !view.field.text) return view.leave()
  if (view.picker && name !== 'ctrl+c') return pressPicker(view, key)
  if (keys[name]) return keys[name](view)
  const decided = view.field.text ? undefined : findDecision(view, text)
  if (decided) return decided()
  if (isEnter(key.name) && !key.meta) return submit(view)
  view.field = pressKey(view.field, text, key, view.history) ?? view.field
}

function scroll(view, direction) {
  view.scroll = Math.max(0, view.scroll + direction * Math.max(1, (process.stdout.rows ?? 24) - 6))
}

/** Stops the run, empties the field, or leaves. */
async function interrupt(view) {
  if (view.transcript.state.run !== undefined) return stop(view)
  if (!view.field.text) return view.leave()
  view.field = emptyField
}

async function stop(view) {
  if (view.transcript.state.run !== undefined) await view.client.call('POST', sessionPath(view.session, '/stop'), {})
}

/** Decides or answers by a key while the field is empty. Somebody else may have been faster. */
function findDecision({ client, transcript, asked }, text) {
  const [first] = transcript.state.waiting
  if (!first || asked?.id !== first.id || Date.now() - asked.at < unreadMs) return undefined
  const isLate = (error) => {
    if (error.status !== 409) throw error
  }
  if (first.question !== undefined) {
    const chosen = /^[1-9]$/.test(text ?? '') ? first.choices?.[Number(text) - 1] : undefined
    return chosen === undefined ? undefined : () => answerQuestion(client, first.id, chosen).catch(isLate)
  }
  const decision = first.choices.find((name) => decisionKeys[name] === text)
  return decision && (() => decide(client, first.id, decision).catch(isLate))
}

async function submit(view) {
  const text = view.field.text.trim()
  if (!text) return
  const [first] = view.transcript.state.waiting
  view.field = emptyField
  view.scroll = 0
  if (first?.question !== undefined) return answerQuestion(view.client, first.id, text)
  keepHistory(view, text)
  view.transcript.send(text)
  try {
    await send(view, text)
  } catch (error) {
    view.field = { ...emptyField, text, caret: text.length }
    throw error
  }
}

async function send(view, text) {
  const { client, model } = view
  if (!view.session) {
    const { body } = await client.call('POST', '/api/sessions', { source: 'cli', ...(model && { model }) })
    follow(view, body.id, body.event_seq ?? 0)
  }
  const attachments = await attachFiles(view, text)
  const isRunning = view.transcript.state.run !== undefined
  await client.call('POST', sessionPath(view.session, '/chat'), {
    input: text,
    wait: false,
    ...(attachments.length && { attachments }),
    ...(model && { model }),
    ...(isRunning && { mode: 'steer' }),
  })
}

async function openSession(view, id) {
  const found = await view.client.get(sessionPath(id))
  const { data } = await view.client.get(sessionPath(id, '/messages?limit=50'))
  view.transcript = createTranscript()
  for (const message of data.toSorted((one, other) => one.seq - other.seq)) view.transcript.addMessage(message)
  view.transcript.state.run = found.run?.run_id
  await addWaiting(view, id)
  view.title = found.title ?? 'Untitled'
  view.scroll = 0
  follow(view, id, found.event_seq ?? 0)
}

async function addWaiting({ client, transcript }, id) {
  for (const path of ['/api/approvals', '/api/questions'])
    transcript.state.waiting.push(...(await client.list(path)).filter((one) => one.session_id === id))
}

/** Shows the events of a session from now on. */
function follow(view, id, after) {
  view.following?.abort()
  view.session = id
  // A session that was still being opened must not keep the program.
  if (view.hasLeft) return
  const { transcript } = view
  const controller = new AbortController()
  view.following = controller
  const { signal } = controller
  let last = after
  const onState = (isOpen) => {
    if (signal.aborted) return
    view.isAway = !isOpen
    view.redraw()
  }
  const read = async () => {
    for await (const event of view.client.events(id, last, signal, onState)) {
      last = event.seq ?? last
      transcript.add(event)
      if (/^run\.(?:completed|failed|cancelled)$/.test(event.type)) void refreshTitle(view, id)
      view.redraw()
    }
  }
  const readOn = () =>
    read().catch((error) => {
      if (signal.aborted) return
      // A server that is away for long comes back, too.
      if (error.status === undefined) return readOn()
      fail(view, error)
    })
  view.isAway = false
  void readOn()
}

/** The agent gives sessions their titles. Without an answer the title stays. */
async function refreshTitle(view, id) {
  const found = await view.client.get(sessionPath(id)).catch(() => undefined)
  if (view.session !== id || !found?.title) return
  view.title = found.title
  view.redraw()
}

async function openPicker(view) {
  const { data } = await view.client.get('/api/sessions?limit=50')
  const items = data.map(({ id, title, updated_at: at }) => ({
    id,
    name: `${at.slice(0, 10)}  ${title ?? 'Untitled'}`,
  }))
  view.picker = { title: 'Sessions', at: 0, items, choose: ({ id }) => openSession(view, id) }
  view.redraw()
}

async function pressPicker(view, { name }) {
  const { picker } = view
  const step = { up: -1, down: 1 }[name]
  if (step) picker.at = Math.max(0, Math.min(picker.items.length - 1, picker.at + step))
  if (name === 'escape') view.picker = undefined
  if (!isEnter(name)) return
  view.picker = undefined
  const chosen = picker.items[picker.at]
  if (chosen) await picker.choose(chosen)
  view.redraw()
}

/** Completes the path behind an @: files of the workspace, and those of this computer. Several open a list. */
async function completePath(view) {
  const mention = findMention(view.field)
  if (!mention) return
  const found = [...new Set([...(await listWorkspace(view)), ...listLocal(mention.path)])]
    .filter((path) => path.toLowerCase().includes(mention.path.toLowerCase()))
    .slice(0, 100)
  const take = (path) => {
    view.field = complete(view.field, mention, path)
  }
  if (found.length === 1) take(found[0])
  else if (found.length)
    view.picker = { title: 'Files', at: 0, items: found.map((name) => ({ name })), choose: ({ name }) => take(name) }
  view.redraw()
}

async function listWorkspace({ client, session }) {
  if (!session) return []
  const files = await client.list(sessionPath(session, '/files?recursive=1&limit=1000'), 1_000).catch(() => [])
  return files.flatMap(({ path, type }) => (type === 'directory' ? [] : [path.replace(/^\/workspace\//, '')]))
}

function listLocal(path) {
  const folder = path.includes('/') ? dirname(`${path}x`) : '.'
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith('.'))
      .map((entry) => join(folder, entry.name) + (entry.isDirectory() ? '/' : ''))
  } catch {
    return [] // There is no such folder.
  }
}

/** Files of this computer that the message names by @ go with it. Names of the workspace are only words. */
async function attachFiles(view, text) {
  if (!findMentioned(text).length) return []
  return readAttachments(findMentioned(text, new Set(await listWorkspace(view))))
}

const historyPath = () => join(dirname(configPath()), 'history.json')

function readHistory() {
  try {
    return JSON.parse(readFileSync(historyPath(), 'utf8')).map(String)
  } catch {
    return [] // Nothing was sent yet.
  }
}

function keepHistory(view, text) {
  if (view.history.at(-1) !== text) view.history = [...view.history, text].slice(-maxHistory)
  try {
    mkdirSync(dirname(historyPath()), { recursive: true, mode: 0o700 })
    writeFileSync(historyPath(), JSON.stringify(view.history), { mode: 0o600 })
  } catch {
    // A history that cannot be written lasts as long as the chat.
  }
}
