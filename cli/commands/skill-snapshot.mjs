/** `talaria skills snapshot` and `restore`: keeps all skills of the tenant in one file, and brings them back. */

import { readFile, writeFile } from 'node:fs/promises'
import { exits, Failure } from '../exits.mjs'
import { note, plain, printOne, requireWritable } from '../output.mjs'

const format = 'talaria-skills'
const skillFile = 'SKILL.md'
const skillPath = (name, rest = '') => `/api/skills/${encodeURIComponent(name)}${rest}`
const filePath = (name, path) => skillPath(name, `/files/${path.split('/').map(encodeURIComponent).join('/')}`)

const listSkills = (client) => client.list('/api/skills?limit=100', Infinity)

/** Bundled skills are not copied: only that they are pinned or archived. */
export async function snapshot(client, options, file) {
  requireWritable(file)
  const skills = []
  for (const { name, source, hash, pinned, archived } of await listSkills(client)) {
    const isOwn = source !== 'bundled'
    if (isOwn || pinned || archived)
      skills.push({ name, source, hash, pinned, archived, files: isOwn ? await readFiles(client, name) : [] })
  }
  await writeFile(file, `${JSON.stringify({ format, version: 1, at: new Date().toISOString(), skills }, null, 1)}\n`)
  printOne(options, { file, skills: skills.length }, `${skills.length} skills are in ${plain(file)}.`)
}

async function readFiles(client, name) {
  const { files } = await client.get(skillPath(name))
  const read = async ({ path, hash }) => {
    const answer = await client.fetch(filePath(name, path))
    if (!answer.ok) throw new Failure(`The file ${path} of ${name} cannot be read: ${answer.status}.`)
    return { path, hash, data: Buffer.from(await answer.arrayBuffer()).toString('base64') }
  }
  const found = []
  for (const one of files) found.push(await read(one))
  return found
}

/**
 * Skills that are as in the file stay untouched, and so do skills that it does not have. A skill that cannot be stored does
 * not keep the others from it.
 */
export async function restore(client, options, file) {
  const wanted = parse(await readFile(file, 'utf8'))
  const now = new Map((await listSkills(client)).map((skill) => [skill.name, skill]))
  const results = []
  for (const skill of wanted) results.push(await restoreOne(client, options, { skill, before: now.get(skill.name) }))
  const count = (status) => results.filter((one) => one.status === status).length
  const failed = results.filter(({ error }) => error !== undefined)
  for (const { name, error } of failed) note(`${plain(name)}: ${plain(error)}`)
  const text = `${count('created')} created, ${count('replaced')} replaced, ${count('same')} as before, ${failed.length} failed.`
  printOne(options, { skills: results }, text)
  return failed.length ? exits.failed : exits.done
}

async function restoreOne(client, options, { skill, before }) {
  const { name, pinned, archived } = skill
  try {
    const status = await restoreFiles(client, options, { skill, before })
    const marked = before ?? { pinned: false, archived: false }
    if (status === 'created' || marked.pinned !== pinned || marked.archived !== archived)
      await client.call('PATCH', skillPath(name), { pinned, archived })
    return { name, status }
  } catch (error) {
    return { name, status: 'failed', error: error.message }
  }
}

async function restoreFiles(client, { accept }, { skill, before }) {
  const { name, source, hash, files } = skill
  if (source === 'bundled' || before?.hash === hash) return 'same'
  const care = accept ? { accept: true } : {}
  const content = Buffer.from(files.find(({ path }) => path === skillFile).data, 'base64').toString()
  if (before !== undefined && before.source !== 'bundled') {
    await client.call('PUT', skillPath(name), { content, ...care })
    await writeFiles(client, skill, { accept, has: (await client.get(skillPath(name))).files })
    return 'replaced'
  }
  await client.call('POST', '/api/skills', { name, content, ...care })
  try {
    await writeFiles(client, skill, { accept, has: [] })
  } catch (error) {
    // Half of a skill is none.
    await client.call('DELETE', skillPath(name))
    throw error
  }
  return 'created'
}

async function writeFiles(client, { name, files }, { accept, has }) {
  const isThere = ({ path, hash }) => has.some((one) => one.path === path && one.hash === hash)
  for (const file of files) {
    if (file.path === skillFile || isThere(file)) continue
    const address = `${filePath(name, file.path)}${accept ? '?accept=true' : ''}`
    await client.call('PUT', address, new Uint8Array(Buffer.from(file.data, 'base64')))
  }
  for (const { path } of has)
    if (!files.some((one) => one.path === path)) await client.call('DELETE', filePath(name, path))
}

/** Everything is checked before anything is changed. */
function parse(text) {
  let given
  try {
    given = JSON.parse(text)
  } catch {
    throw new Failure('This is no snapshot of skills: it is not JSON.')
  }
  if (given?.format !== format || given.version !== 1 || !Array.isArray(given.skills))
    throw new Failure('This is no snapshot of skills that this version reads.')
  const bad = given.skills.find((skill) => !isSkill(skill))
  if (bad) throw new Failure(`The snapshot has a skill that is none: ${plain(JSON.stringify(bad)).slice(0, 100)}`)
  return given.skills
}

function isSkill(skill) {
  const { name, source, pinned, archived, files } = skill ?? {}
  const isNamed = typeof name === 'string' && /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)
  const isMarked = typeof pinned === 'boolean' && typeof archived === 'boolean'
  const isRead = Array.isArray(files) && files.every((file) => [file?.path, file?.data].every(isText))
  return isNamed && isMarked && isRead && (source === 'bundled' || files.some(({ path }) => path === skillFile))
}

const isText = (value) => typeof value === 'string'
