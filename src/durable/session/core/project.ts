/**
 * Brings the instructions and the files of its project into a session. The files are copies in the folder `project/`: what
 * the agent changes there stays in the session, and a file that changes in the project replaces its copy.
 */

import { log } from '#agent/core/log.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import type { ProjectLink } from '#durable/storage/session-metadata.ts'
import { type ProjectFile, type ProjectMaterial, projectsOf } from '#durable/tenant/projects/project.ts'
import { rebuildPrompt } from '#durable/turn/prepare-turn.ts'
import { workspaceFiles } from './files.ts'
import { recordRights } from './contributions.ts'
import type { Session } from '../session.ts'

const folder = 'project'

/** Without the tenant's object, and for somebody who is no member, the session keeps what it has. */
export async function updateFromProject(session: Session, authority: Authority): Promise<void> {
  try {
    await update(session, authority)
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.warn('project.unread', 'The project of a session cannot be read; the session keeps what it has.', { error })
  }
}

async function update(session: Session, authority: Authority): Promise<void> {
  const { project, source } = session.meta
  // A review reads a conversation; it gets neither its files nor its instructions.
  if (!project || source === 'learning') return
  const reader = readerOf(session, authority)
  const found = await projectsOf(session.outside.env, session.tenantId).material(reader, project.id, project.version)
  const isStillIn = session.exists && session.meta.project?.id === project.id
  if (!isStillIn || found === undefined || found === 'same') return
  if (found === 'gone') return leave(session, undefined)
  await adopt(session, reader, found)
}

/** A project that somebody has given to a channel is given to everybody who may write there. */
function readerOf({ meta, tenantId, sessionId }: Session, authority: Authority): Authority {
  const isOfChannel = meta.project?.id === meta.channelProject
  return isOfChannel ? systemAuthority(tenantId, { kind: 'session', id: sessionId }, ['write', 'approve']) : authority
}

async function adopt(session: Session, authority: Authority, material: ProjectMaterial): Promise<void> {
  const { id, by = [], files: known = {} } = session.meta.project ?? { id: '' }
  const { copied, isComplete } = await copyFiles(session, { authority, id, known, wanted: material.files })
  if (!session.exists || session.meta.project?.id !== id) return
  const text = renderText(material)
  const link: ProjectLink = {
    id,
    files: copied,
    // The prompt keeps earlier instructions until it is built again.
    by: [...new Map([...by, ...material.rights].map((rights) => [JSON.stringify(rights), rights])).values()],
    // Files that could not be copied are tried again with the next turn.
    ...(isComplete && { version: material.version }),
    ...(text && { text: session.redact(text) }),
  }
  const isNew = session.meta.model === null && !session.store.current()
  session.updateMeta({ project: link, ...(isNew && material.model !== null && { model: material.model }) })
}

function renderText({ name, instructions, files }: ProjectMaterial): string {
  if (!instructions && !files.length) return ''
  const about = `This conversation belongs to the project ${JSON.stringify(name)}.`
  const where = files.length ? ` Copies of its files are in the folder ${folder}/ of your workspace.` : ''
  return `${about}${where}${instructions && `\n\nInstructions of the project:\n${instructions}`}`
}

type Copying = {
  readonly authority: Authority
  readonly id: string
  readonly known: Readonly<Record<string, string>>
  readonly wanted: readonly ProjectFile[]
}

async function copyFiles(session: Session, { authority, id, known, wanted }: Copying) {
  const copied: Record<string, string> = {}
  let isComplete = true
  const kept = new Set(wanted.map(({ path }) => path))
  for (const [path, hash] of Object.entries(known)) if (!kept.has(path)) await removeCopy(session, path, hash)
  for (const file of wanted) {
    const { path, hash, rights, writtenBy } = file
    if (known[path] === hash) {
      copied[path] = hash
      continue
    }
    const bytes = await projectsOf(session.outside.env, session.tenantId).readFile(authority, id, path)
    if (bytes) recordRights(session, rights, { isFile: true })
    const result = bytes && (await workspaceFiles(session, writtenBy).write(`${folder}/${path}`, bytes))
    if (result?.kind === 'written') copied[path] = hash
    else isComplete = false
  }
  return { copied, isComplete }
}

/** A chat belongs to the project of its channel when that changes, until somebody moves the session. */
export async function followChannel(session: Session, authority: Authority, projectId?: string): Promise<void> {
  if (session.store.hasOpenTurn) return
  const { channelProject: before } = session.meta
  session.updateMeta({ channelProject: projectId })
  try {
    await moveToProject(session, authority, projectId ?? null)
  } catch (error) {
    if (isOwnReset(error)) throw error
    session.updateMeta({ channelProject: before })
    log.warn('project.not_followed', 'A chat could not be moved into the project of its channel.', { error })
  }
}

/** Moves the session into a project, or out of its project with null. */
export async function moveToProject(session: Session, authority: Authority, projectId: string | null): Promise<void> {
  const { project } = session.meta
  if ((project?.id ?? null) === projectId) return
  await leave(session, projectId === null ? undefined : { id: projectId }, authority)
}

/** The copies of the old project go. The prompt is built again, so that those who have written in the old one count no more. */
async function leave(session: Session, next: ProjectLink | undefined, authority?: Authority): Promise<void> {
  const { project } = session.meta
  for (const [path, hash] of Object.entries(project?.files ?? {})) await removeCopy(session, path, hash)
  if (!session.exists) return
  session.updateMeta({ project: next })
  try {
    if (authority) await updateFromProject(session, authority)
    await rebuildPrompt(session)
  } catch (error) {
    if (session.exists) session.updateMeta({ project })
    throw error
  }
}

/** A copy that was changed in the session stays. */
async function removeCopy(session: Session, path: string, hash: string): Promise<void> {
  const files = workspaceFiles(session)
  const found = await files.read(`${folder}/${path}`)
  if (found.kind === 'file' && (await sha256Hex(found.bytes)) === hash) await files.remove(`${folder}/${path}`)
}
