/** Describes projects, their members and their files, and addresses the part of the tenant's object that stores them. */

import type { EarlierRights } from '#agent/core/permission/contribution.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { callLoaded, type LoadedCalls } from '../loaded-part.ts'
import type { ProjectRows } from './project-rows.ts'

/** `use`: sees the project and its files, and has sessions in it. `edit`: changes it. `manage`: also members, and deletes it. */
export const projectAccesses = ['use', 'edit', 'manage'] as const
export type ProjectAccess = (typeof projectAccesses)[number]

/** The name of the role stands for all keys and people with it. */
export const everyKey = '*'
export type ProjectMember =
  | { readonly role: string; readonly access: ProjectAccess }
  /** The id of a key, or of a person of an identity provider. */
  | { readonly key: string; readonly access: ProjectAccess }

/** `writtenBy`: as `holderOf` names them. */
export type ProjectFile = {
  readonly path: string
  readonly bytes: number
  readonly hash: string
  readonly updatedAt: number
  readonly writtenBy: string
  readonly rights: readonly EarlierRights[]
}

export type ProjectFields = {
  readonly name: string
  readonly instructions: string
  readonly model: string | null
  readonly members: readonly ProjectMember[]
}

export type Project = ProjectFields & {
  readonly id: string
  /** Of the caller. */
  readonly access: ProjectAccess
  readonly files: readonly ProjectFile[]
  readonly createdAt: number
  readonly updatedAt: number
}

/** The contribution of a project to a session in it. */
export type ProjectMaterial = {
  /** Rises with each change. */
  readonly version: number
  readonly name: string
  readonly instructions: string
  readonly model: string | null
  /** The rights of everybody who has written the instructions. */
  readonly rights: readonly EarlierRights[]
  readonly files: readonly ProjectFile[]
}

export const maxProjects = 200
export const maxProjectFiles = 200
export const maxProjectFileBytes = 10 * 2 ** 20
export const maxProjectBytes = 50 * 2 ** 20

/** A stored value: the bytes in rows. Undefined: the tenant never had a project. */
export const projectBytesName = 'project bytes'

const methods = [
  'list',
  'find',
  'create',
  'update',
  'remove',
  'readFile',
  'writeFile',
  'removeFile',
  'material',
] as const
export type ProjectMethod = (typeof methods)[number]

export const projectsOf = (env: Env, tenantId: string): LoadedCalls<ProjectRows, ProjectMethod> =>
  callLoaded(methods, () => tenantStub(env, tenantId).projects)
