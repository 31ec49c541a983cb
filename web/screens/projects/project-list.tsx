/** The projects beside the chat, each with its sessions. */

import { useEffect, useState } from 'preact/hooks'
import { get, type Page } from '../../api/client.ts'
import type { Project, Session } from '../../model/types.ts'
import { Icon } from '../../parts/icon.tsx'
import { addressOf, place } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { Entry } from '../sessions/session-list.tsx'
import { projects, sessions } from '../sessions/sessions.ts'
import { loadProjects } from './load-projects.ts'

export function ProjectList() {
  useEffect(() => void loadProjects().catch(showError), [])
  if (!projects.value.length) return null
  return (
    <section aria-label={t('projects')}>
      <h2>{t('projects')}</h2>
      {projects.value.map((project) => (
        <OneProject key={project.id} project={project} />
      ))}
    </section>
  )
}

const maxShown = 50

function OneProject({ project: { id, name } }: { readonly project: Project }) {
  const open = sessions.value.find((one) => one.id === place.value.id)
  const [isOpen, setOpen] = useState(open?.project_id === id)
  const [stored, setStored] = useState<readonly Session[]>([])
  useEffect(() => {
    if (!isOpen) return
    get<Page<Session>>(`/api/sessions?limit=${maxShown}&project=${encodeURIComponent(id)}`)
      .then(({ data }) => setStored(data))
      .catch(showError)
  }, [isOpen])
  return (
    <div class="project">
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Icon name="right" />
          <span class="clip grow" dir="auto">
            {name}
          </span>
        </summary>
        <ul>
          {join(stored, id).map((session) => (
            <Entry key={session.id} session={session} />
          ))}
        </ul>
      </details>
      <a class="icon-button" href={addressOf('projects', id)} aria-label={`${t('open')}: ${name}`} title={t('open')}>
        <Icon name="more" />
      </a>
    </div>
  )
}

/** The list beside the chat hears of changes; the stored ones have older sessions too. */
function join(stored: readonly Session[], id: string): readonly Session[] {
  const live = new Map(sessions.value.map((one) => [one.id, one]))
  const known = stored.map((one) => live.get(one.id) ?? one)
  const fresh = sessions.value.filter((one) => !stored.some((each) => each.id === one.id))
  return [...fresh, ...known]
    .filter((one) => one.project_id === id && !one.archived)
    .toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : -1))
}
