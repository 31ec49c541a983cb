/** Decides who may give a project to a channel. It is loaded with the first channel of a project. */

import { projectsOf } from '#durable/tenant/projects/project.ts'
import { AppError, invalid } from '../errors.ts'
import type { ConnectionCall } from './connection-routes.ts'

const param = 'settings.project'

/** Everybody who may write in the channel gets what the project has, so that this is for those who choose its members. */
export async function requireProject({ env, tenant, authority }: ConnectionCall, id: string): Promise<void> {
  const found = await projectsOf(env, tenant.id).find(authority, id)
  if (!found) throw invalid('There is no such project.', param)
  if (found.access !== 'manage')
    throw new AppError(403, 'policy', 'Only members who manage the project may give it to a channel.', { param })
}
