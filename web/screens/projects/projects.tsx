/** Projects: which there are, and one with its instructions, model, files, sessions and members. */

import { useState } from 'preact/hooks'
import { api, fileOf, get, type Page, path, send } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import type { Project, Session } from '../../model/types.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { download } from '../../parts/download.ts'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { type Loaded, Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, goTo, place } from '../../parts/route.ts'
import { showDone, showError } from '../../parts/toast.ts'
import { formatBytes, formatDate, formatDay } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { choiceOf, choose, loadModels, models } from '../chat/models.ts'
import { ProjectMemory } from '../memory/memory.tsx'
import { loadSessions } from '../sessions/sessions.ts'
import { loadProjects } from './load-projects.ts'
import { Members } from './members.tsx'
import { ProjectChannels, ProjectJobs } from './project-work.tsx'
import { say } from './project-words.ts'

export const Projects = () =>
  place.value.id ? <OneProject key={place.value.id} id={place.value.id} /> : <AllProjects />

function AllProjects() {
  const list = useLoad(() => get<Page<Project>>('/api/projects'), '')
  return (
    <Screen title={t('projects')}>
      <p class="note">{say('about')}</p>
      <Panel of={list}>
        {({ data }) => (
          <ul class="list-of">
            {data.map(({ id, name, files, updated_at: at }) => (
              <li key={id}>
                <a class="card link row" href={addressOf('projects', id)}>
                  <strong class="clip grow" dir="auto">
                    {name}
                  </strong>
                  {files.length > 0 && <span class="note">{t('fileCount', { count: files.length })}</span>}
                  <time class="note" dateTime={at}>
                    {formatDay(at)}
                  </time>
                </a>
              </li>
            ))}
            {!data.length && <li class="note">{say('noProjects')}</li>}
          </ul>
        )}
      </Panel>
      {can('write') && <NewProject />}
    </Screen>
  )
}

function NewProject() {
  const [name, setName] = useState('')
  const add = async () => {
    const { id } = await api<Project>('POST', '/api/projects', { body: { name: name.trim() } })
    await loadProjects()
    goTo('projects', id)
  }
  return (
    <Form label={say('newProject')} action={t('add')} onSend={add}>
      <Field label={t('name')} value={name} onChange={setName} />
    </Form>
  )
}

type PartProps = { readonly project: Project; readonly of: Loaded<Project> }

function OneProject({ id }: { readonly id: string }) {
  const loaded = useLoad(() => get<Project>(path`/api/projects/${id}`), id)
  const { data: project } = loaded
  const begin = () => {
    choose('', { ...choiceOf(''), project: id })
    goTo('chat')
  }
  const actions = (
    <>
      <a href={addressOf('projects')}>{t('projects')}</a>
      {project && can('chat') && (
        <Button kind="main" onClick={begin}>
          {t('newChat')}
        </Button>
      )}
    </>
  )
  return (
    <Screen title={project?.name ?? t('projects')} actions={actions}>
      <Panel of={loaded}>
        {(data) => (
          <>
            <Sessions id={id} />
            {can('jobs') && <ProjectJobs id={id} />}
            <ProjectChannels project={data} />
            <About key={data.updated_at} project={data} of={loaded} />
            <Files project={data} of={loaded} />
            <ProjectMemory id={id} isChanged={canEdit(data)} />
            <Members project={data} onChange={loaded.reload} />
            {can('write') && data.access === 'manage' && <Remove project={data} />}
          </>
        )}
      </Panel>
    </Screen>
  )
}

const canEdit = ({ access }: Project): boolean => can('write') && access !== 'use'

function Sessions({ id }: { readonly id: string }) {
  const list = useLoad(
    () => get<Page<Session>>(`/api/sessions?limit=50&archived=all&project=${encodeURIComponent(id)}`),
    id,
  )
  const more = async (page: Page<Session>) => {
    const cursor = encodeURIComponent(page.next_cursor ?? '')
    const address = `/api/sessions?limit=50&archived=all&project=${encodeURIComponent(id)}&cursor=${cursor}`
    const next = await get<Page<Session>>(address)
    list.set({ ...next, data: [...page.data, ...next.data] })
  }
  return (
    <section>
      <h2>{t('sessions')}</h2>
      <Panel of={list}>
        {(page) => (
          <>
            <ul class="recent">
              {page.data.map(({ id: session, title, updated_at: at }) => (
                <li key={session}>
                  <a href={addressOf('chat', session)}>
                    <span class="clip grow" dir="auto">
                      {title ?? t('untitled')}
                    </span>
                    <time dateTime={at}>{formatDay(at)}</time>
                  </a>
                </li>
              ))}
              {!page.data.length && <li class="note">{t('noSessions')}</li>}
            </ul>
            {page.next_cursor && <Button onClick={() => more(page)}>{t('more')}</Button>}
          </>
        )}
      </Panel>
    </section>
  )
}

function About({ project, of }: PartProps) {
  const [name, setName] = useState(project.name)
  const [instructions, setInstructions] = useState(project.instructions)
  const [model, setModel] = useState(project.model ?? '')
  useLoad(() => loadModels().catch(() => undefined), '')
  const ids = [...new Set([...(models.value ?? []).map((one) => one.id), ...(project.model ? [project.model] : [])])]
  if (!canEdit(project))
    return (
      <section>
        <h2>{say('instructions')}</h2>
        <p class="pre-line" dir="auto">
          {project.instructions || say('noInstructions')}
        </p>
        {project.model && <p class="note">{`${t('model')}: ${project.model}`}</p>}
      </section>
    )
  const save = async () => {
    const body = { name: name.trim(), instructions, model: model || null }
    of.set(await api<Project>('PATCH', path`/api/projects/${project.id}`, { body }))
    showDone(t('saved'))
    await loadProjects()
  }
  return (
    <Form label={say('instructions')} action={t('save')} onSend={save}>
      <Field label={t('name')} value={name} onChange={setName} />
      <Field
        label={say('instructions')}
        kind="area"
        value={instructions}
        onChange={setInstructions}
        hint={say('instructionsHint')}
      />
      <Choice
        label={t('defaultModel')}
        value={model}
        options={[['', t('automatic')], ...ids.map((id) => [id, id] as const)]}
        onChange={setModel}
      />
    </Form>
  )
}

const fileAddress = ({ id }: Project, file: string): string => fileOf(path`/api/projects/${id}`, file)

function Files({ project, of }: PartProps) {
  const put = async (files: readonly File[]) => {
    for (const file of files) {
      const exists = project.files.some((one) => one.path === file.name)
      const question = { title: t('overwrite'), text: t('exists', { name: file.name }), action: t('overwrite') }
      if (exists && (await ask({ ...question, isDangerous: true })) === undefined) continue
      await send('PUT', fileAddress(project, file.name), { body: file })
    }
    await of.reload()
  }
  const save = async (file: string) => {
    const response = await send('GET', fileAddress(project, file))
    download(file.slice(file.lastIndexOf('/') + 1), await response.blob())
  }
  const remove = async (file: string) => {
    if ((await ask({ title: t('delete'), text: file, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', fileAddress(project, file))
    await of.reload()
  }
  return (
    <section class="list-of">
      <h2>{t('files')}</h2>
      <p class="note">{say('filesHint')}</p>
      <ul class="list-of">
        {project.files.map((file) => (
          <li key={file.path} class="card row">
            <span class="clip grow" dir="auto">
              {file.path}
            </span>
            <span class="note">{`${formatBytes(file.size)} · ${formatDate(file.updated_at)}`}</span>
            <Button label={`${t('download')}: ${file.path}`} onClick={() => save(file.path)}>
              {t('download')}
            </Button>
            {canEdit(project) && (
              <Button label={`${t('delete')}: ${file.path}`} onClick={() => remove(file.path)}>
                {t('delete')}
              </Button>
            )}
          </li>
        ))}
        {!project.files.length && <li class="note">{t('noFiles')}</li>}
      </ul>
      {canEdit(project) && (
        <label class="button">
          {t('upload')}
          <input
            class="unseen"
            type="file"
            multiple
            onChange={(event) => {
              const { files } = event.currentTarget
              void put([...(files ?? [])]).catch(showError)
              event.currentTarget.value = ''
            }}
          />
        </label>
      )}
    </section>
  )
}

function Remove({ project: { id, name } }: { readonly project: Project }) {
  const remove = async () => {
    const text = say('deleteText', { name })
    if ((await ask({ title: t('delete'), text, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/projects/${id}`)
    await Promise.all([loadProjects(), loadSessions()])
    goTo('projects')
  }
  return (
    <div class="row end">
      <Button kind="danger" onClick={remove}>
        {say('deleteProject')}
      </Button>
    </div>
  )
}
