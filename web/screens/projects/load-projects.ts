/** Loads the projects of the key, for the lists that name them. */

import { get, type Page } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import type { Project } from '../../model/types.ts'
import { projects } from '../sessions/sessions.ts'

export async function loadProjects(): Promise<void> {
  if (can('read')) projects.value = (await get<Page<Project>>('/api/projects')).data
}
