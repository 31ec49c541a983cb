/**
 * Imports the home of a Hermes Agent: identity, memories, skills and sessions. It reads only these files, never keys or
 * configuration. Each part has a name of its own in Talaria, so a second run adds nothing.
 */

import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from './api.mjs'
import { readSessions } from './hermes-sessions.mjs'
import { readSkills } from './hermes-skills.mjs'

const maxSoulChars = 20_000

/** Refusals of single parts are reported and counted. Everything else ends the import: no access, no server. */
const isPartial = (error) => error instanceof ApiError && [400, 404, 409, 413, 422].includes(error.status)

export async function importHermes(folder, call, { withBundled = false, isOverwriting = false, report }) {
  if (!(await stat(folder)).isDirectory()) throw new ApiError(`${folder} is not a directory.`)
  const counts = { added: 0, present: 0, failed: 0 }
  const part = async (name, work) => {
    try {
      const outcome = await work()
      counts[outcome === 'added' ? 'added' : 'present']++
      if (outcome !== 'present')
        report(`${outcome === 'added' ? '+' : '='} ${name}${outcome === 'added' ? '' : `: ${outcome}`}`)
    } catch (error) {
      if (!isPartial(error)) throw error
      counts.failed++
      report(`! ${name}: ${error.message}`)
    }
  }
  await importSoul(folder, call, { isOverwriting, part })
  await importMemory(folder, call, part)
  for await (const skill of readSkills(join(folder, 'skills'), { withBundled }))
    await part(`skill ${skill.name}`, () => importSkill(skill, call))
  for (const session of await readSessions(join(folder, 'state.db')))
    await part(`session ${session.title ?? session.id}`, () => importSession(session, call))
  report(`${counts.added} added, ${counts.present} already there, ${counts.failed} not taken.`)
  return counts
}

const readText = async (path) =>
  readFile(path, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

async function importSoul(folder, call, { isOverwriting, part }) {
  const soul = (await readText(join(folder, 'SOUL.md')))?.trim()
  if (!soul) return
  await part('SOUL.md', async () => {
    const { body: settings } = await call('GET', '/api/settings')
    const current = settings.agent?.soul
    if (current === soul) return 'present'
    if (current && !isOverwriting) return 'kept the identity that Talaria has; --overwrite replaces it'
    if (soul.length > maxSoulChars) throw new ApiError(`It has more than ${maxSoulChars} characters.`, { status: 400 })
    await call('PATCH', '/api/settings', { agent: { soul } })
    return 'added'
  })
}

/** Entries are separated by a line with a section sign. */
export const parseEntries = (text) =>
  text
    .split(/^[ \t]*§[ \t]*$/m)
    .map((entry) => entry.trim())
    .filter(Boolean)

async function importMemory(folder, call, part) {
  for (const [target, file] of [
    ['memory', 'MEMORY.md'],
    ['user', 'USER.md'],
  ]) {
    const text = await readText(join(folder, 'memories', file))
    for (const [i, content] of parseEntries(text ?? '').entries())
      await part(`${file}, entry ${i + 1}`, async () => {
        const { body } = await call('GET', '/api/memory')
        if (body[target].entries.includes(content)) return 'present'
        await call('PATCH', '/api/memory', { target, operations: [{ action: 'add', content }] })
        return 'added'
      })
  }
}

async function importSkill({ name, content, files }, call) {
  const path = `/api/skills/${encodeURIComponent(name)}`
  const existing = await call('GET', path).catch((error) => {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  })
  // A bundled skill of Talaria is replaced by the user's own one of that name.
  const isOwn = existing !== undefined && existing.body.source !== 'bundled'
  if (!isOwn) await call('POST', '/api/skills', { name, content })
  const known = new Set(isOwn ? existing.body.files.map((file) => file.path ?? file) : [])
  const missing = files.filter((file) => !known.has(file.path))
  for (const file of missing)
    await call('PUT', `${path}/files/${file.path.split('/').map(encodeURIComponent).join('/')}`, file.bytes)
  return isOwn && missing.length === 0 ? 'present' : 'added'
}

async function importSession({ id, ...session }, call) {
  const { status } = await call('POST', `/api/sessions/import?id=${encodeURIComponent(id)}`, session.render())
  return status === 201 ? 'added' : 'present'
}
