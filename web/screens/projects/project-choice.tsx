/** Chooses the project of a new chat, and moves a session into another one. */

import { Choice } from '../../parts/form.tsx'
import { showDone, showError } from '../../parts/toast.ts'
import { t, wordsOf } from '../../words/words.ts'
import { choiceOf, choose } from '../chat/models.ts'
import { session } from '../chat/store.ts'
import { changeSession, projects } from '../sessions/sessions.ts'

const listOptions = () => [['', say('none')] as const, ...projects.value.map(({ id, name }) => [id, name] as const)]

export function ProjectOfNewChat() {
  const { project = '', ...others } = choiceOf('')
  return (
    <select
      aria-label={say('project')}
      value={project}
      onChange={({ currentTarget: { value: id } }) => choose('', { ...others, ...(id && { project: id }) })}
    >
      {listOptions().map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

export function MoveToProject({ id }: { readonly id: string }) {
  if (!projects.value.length) return null
  const move = async (project: string) => {
    const changed = await changeSession(id, { project_id: project || null })
    if (session.value?.id === id) session.value = { ...session.value, project_id: changed.project_id }
    showDone(t('saved'))
  }
  return (
    <Choice
      label={say('project')}
      value={session.value?.project_id ?? ''}
      options={listOptions()}
      onChange={(project) => void move(project).catch(showError)}
    />
  )
}

const { say } = wordsOf({ none: 'No project', project: 'Project' }, { none: 'Kein Projekt', project: 'Projekt' })
