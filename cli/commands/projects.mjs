/** `talaria projects`: lists, creates, changes and deletes projects, their files and members, and moves sessions. */

import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { ApiError, createClient, sessionPath } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { UsageError } from '../exits.mjs'
import { note, plain, print, printList, printOne } from '../output.mjs'

const projectPath = (id, rest = '') => `/api/projects/${encodeURIComponent(id)}${rest}`
const filePath = (id, path) => projectPath(id, `/files/${path.split('/').map(encodeURIComponent).join('/')}`)

const actions = { ls: list, show, add, set, members, put, get, drop, move, rm: remove }

export async function run({ options, words: [action = 'ls', ...words] }) {
  const client = createClient(requireConfig())
  return actions[action](client, options, ...words)
}

async function list(client, options) {
  printList(options, await client.list('/api/projects?limit=100'), ['ID', 'FILES', 'YOU MAY', 'NAME'], (one) => [
    one.id,
    String(one.files.length),
    one.access,
    one.name,
  ])
}

async function show(client, options, id) {
  const project = await client.get(projectPath(id))
  if (options.json) return print(JSON.stringify(project))
  const { name, model, access, instructions, files, members: known } = project
  print(`${plain(name)}\n${model ?? 'default model'}, you may ${access} it`)
  for (const one of known) print(`member ${plain(nameOf(one))}: ${one.access}`)
  for (const { path, size } of files) print(`file ${plain(path)}: ${size} bytes`)
  if (instructions) print(`\n${plain(instructions)}`)
}

const nameOf = ({ role, key }) => (role === undefined ? `key:${key}` : `role:${role}`)

/** `@FILE` is the text of a file. */
const readText = async (text) => (text?.startsWith('@') ? readFile(text.slice(1), 'utf8') : text)

async function fieldsOf({ name, instructions, model }) {
  const text = await readText(instructions)
  return {
    ...(name !== undefined && { name }),
    ...(text !== undefined && { instructions: text }),
    ...(model !== undefined && { model: model || null }),
  }
}

async function add(client, options, ...words) {
  const { body } = await client.call('POST', '/api/projects', { ...(await fieldsOf(options)), name: words.join(' ') })
  printOne(options, body, body.id)
}

async function set(client, options, id) {
  const fields = await fieldsOf(options)
  if (!Object.keys(fields).length) throw new UsageError('talaria projects set ID needs --name, --instructions or -m')
  const { body } = await client.call('PATCH', projectPath(id), fields)
  printOne(options, body, `${body.id} ${plain(body.name)}`)
}

async function members(client, options, id, ...given) {
  const path = projectPath(id)
  const { members: held } = given.length
    ? (await client.call('PATCH', path, { members: given.map(parseMember) })).body
    : await client.get(path)
  printList(options, held, ['MEMBER', 'MAY'], (one) => [nameOf(one), one.access])
}

function parseMember(text) {
  const [, kind, name, access = 'use'] = /^(role|key):(.+?)(?:=(use|edit|manage))?$/.exec(text) ?? []
  if (!kind) throw new UsageError(`A member is role:NAME or key:ID, with =use, =edit or =manage, not "${text}".`)
  return { [kind]: name, access }
}

async function put(client, options, id, ...[from, path = basename(from)]) {
  if (!path || path === '-') throw new UsageError('talaria projects put ID FILE|- [PATH]')
  const bytes = from === '-' ? await readInput() : await readFile(from)
  const { body } = await client.call('PUT', filePath(id, path), new Uint8Array(bytes))
  printOne(options, body, `${body.path}: ${body.size} bytes`)
}

async function readInput() {
  const parts = []
  for await (const part of process.stdin) parts.push(part)
  return Buffer.concat(parts)
}

async function get(client, _options, id, ...[path, to = basename(path)]) {
  const answer = await client.fetch(filePath(id, path))
  if (!answer.ok) {
    const body = await answer.json().catch(() => undefined)
    throw new ApiError(body?.error?.message ?? `The server answered ${answer.status}.`, { status: answer.status })
  }
  const bytes = Buffer.from(await answer.arrayBuffer())
  if (to === '-') return void process.stdout.write(bytes)
  await writeFile(to, bytes)
  note(`${to}: ${bytes.byteLength} bytes`)
}

async function drop(client, options, id, path) {
  await client.call('DELETE', filePath(id, path))
  printOne(options, { path, status: 'deleted' }, 'Deleted.')
}

async function move(client, options, session, id) {
  const { body } = await client.call('PATCH', sessionPath(session), { project_id: id === 'none' ? null : id })
  printOne(options, body, `${body.id} ${plain(body.title ?? '')}`)
}

async function remove(client, options, id) {
  await client.call('DELETE', projectPath(id))
  printOne(options, { id, status: 'deleted' }, 'Deleted.')
}
