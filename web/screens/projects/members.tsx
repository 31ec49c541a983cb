/** The members of a project: roles and keys, each with what they may do. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import type { Project } from '../../model/types.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/form.tsx'
import { useLoad } from '../../parts/load.tsx'
import { t } from '../../words/words.ts'
import { say } from './project-words.ts'

type Member = Project['members'][number]
type Access = Member['access']
type Key = { readonly id: string; readonly name: string | null }

const accesses: readonly Access[] = ['use', 'edit', 'manage']
/** Kind and name, as the value of a choice. */
const idOf = (member: Member): string => ('role' in member ? `role ${member.role}` : `key ${member.key}`)

function nameOf(id: string, keys: readonly Key[]): string {
  const name = id.slice(id.indexOf(' ') + 1)
  if (id === 'role *') return say('everybody')
  if (id.startsWith('role ')) return say('ofRole', { name })
  return say('ofKey', { name: keys.find((key) => key.id === name)?.name || name })
}

type Props = { readonly project: Project; readonly onChange: () => Promise<void> }

export function Members({ project, onChange }: Props) {
  const isManager = can('write') && project.access === 'manage'
  const { data: keys = [] } = useLoad(async () => (await get<Page<Key>>('/api/keys?limit=200')).data, '')
  const change = async (members: readonly Member[]) => {
    await api('PATCH', path`/api/projects/${project.id}`, { body: { members } })
    await onChange()
  }
  const without = (member: Member) => project.members.filter((one) => idOf(one) !== idOf(member))
  return (
    <section class="list-of">
      <h2>{say('members')}</h2>
      <p class="note">{say('membersHint')}</p>
      <ul class="list-of">
        {project.members.map((member) => {
          const name = nameOf(idOf(member), keys)
          return (
            <li key={idOf(member)} class="card row">
              <span class="clip grow" dir="auto">
                {name}
              </span>
              {isManager ? (
                <>
                  <AccessChoice
                    value={member.access}
                    onChange={(access) => change([...without(member), { ...member, access }])}
                  />
                  <Button label={`${t('remove')}: ${name}`} onClick={() => change(without(member))}>
                    {t('remove')}
                  </Button>
                </>
              ) : (
                <span class="badge">{say(member.access)}</span>
              )}
            </li>
          )
        })}
      </ul>
      {isManager && <NewMember project={project} keys={keys} onAdd={(one) => change([...without(one), one])} />}
    </section>
  )
}

type AccessProps = { readonly value: Access; readonly onChange: (access: Access) => unknown }

const AccessChoice = ({ value, onChange }: AccessProps) => (
  <Choice
    label={say('may')}
    value={value}
    options={accesses.map((access) => [access, say(access)] as const)}
    onChange={(access) => onChange(access as Access)}
  />
)

type NewProps = {
  readonly project: Project
  readonly keys: readonly Key[]
  readonly onAdd: (member: Member) => Promise<void>
}

function NewMember({ project, keys, onAdd }: NewProps) {
  const [chosen, setChosen] = useState('')
  const [access, setAccess] = useState<Access>('use')
  const { data: roles = [] } = useLoad(
    async () => Object.keys((await get<{ readonly roles?: object }>('/api/settings')).roles ?? {}),
    '',
  )
  const known = new Set(project.members.map(idOf))
  const offered = ['role *', ...roles.map((role) => `role ${role}`), ...keys.map(({ id }) => `key ${id}`)]
  const ids = offered.filter((id) => !known.has(id))
  const add = async () => {
    const name = chosen.slice(chosen.indexOf(' ') + 1)
    await onAdd(chosen.startsWith('role ') ? { role: name, access } : { key: name, access })
    setChosen('')
  }
  return (
    <div class="row">
      <Choice
        label={say('addMember')}
        value={chosen}
        options={[['', ''], ...ids.map((id) => [id, nameOf(id, keys)] as const)]}
        onChange={setChosen}
      />
      <AccessChoice value={access} onChange={setAccess} />
      <Button onClick={add} disabled={!chosen}>
        {t('add')}
      </Button>
    </div>
  )
}
