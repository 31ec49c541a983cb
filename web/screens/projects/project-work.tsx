/** The jobs and the channels of a project: which there are, a new job, and another channel. */

import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import type { Project } from '../../model/types.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/form.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { addressOf } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { sourceName } from '../../words/source-name.ts'
import { t } from '../../words/words.ts'
import type { Channel } from '../channels/channel.ts'
import { type Job, NewJob } from '../jobs/jobs.tsx'
import { say } from './project-words.ts'

export function ProjectJobs({ id }: { readonly id: string }) {
  const jobs = useLoad(() => get<Page<Job>>(`/api/jobs?limit=200&project=${encodeURIComponent(id)}`), id)
  return (
    <section class="list-of">
      <h2>{t('jobs')}</h2>
      <Panel of={jobs}>
        {({ data }) => (
          <ul class="list-of">
            {data.map(({ id: job, name, display, state }) => (
              <li key={job}>
                <a class="card link row" href={addressOf('jobs')}>
                  <strong class="clip grow" dir="auto">
                    {name}
                  </strong>
                  <code>{display}</code>
                  <span class="badge">{t(`job_${state}`)}</span>
                </a>
              </li>
            ))}
            {!data.length && <li class="note">{t('noJobs')}</li>}
          </ul>
        )}
      </Panel>
      <NewJob project={id} onAdded={jobs.reload} />
    </section>
  )
}

/** Everybody who writes in a channel gets what its project has, so that only who manages the project gives it. */
export function ProjectChannels({ project: { id, access } }: { readonly project: Project }) {
  const channels = useLoad(() => get<Page<Channel>>('/api/channels?limit=200'), id)
  const give = async (channel: string, project: string | null) => {
    await api('PATCH', path`/api/channels/${channel}`, { body: { settings: { project } } })
    await channels.reload()
  }
  const mayGive = can('write') && access === 'manage'
  return (
    <section class="list-of">
      <h2>{t('channels')}</h2>
      <p class="note">{say('channelsHint')}</p>
      <Panel of={channels}>
        {({ data }) => (
          <>
            <ul class="list-of">
              {data
                .filter(({ settings }) => settings.project === id)
                .map(({ id: channel, name, platform }) => (
                  <li key={channel} class="card row">
                    <span class="clip grow" dir="auto">
                      {name}
                    </span>
                    <span class="badge">{sourceName(platform)}</span>
                    {mayGive && (
                      <Button label={`${t('remove')}: ${name}`} onClick={() => give(channel, null)}>
                        {t('remove')}
                      </Button>
                    )}
                  </li>
                ))}
            </ul>
            {mayGive && data.some(({ settings }) => settings.project !== id) && (
              <Choice
                label={say('addChannel')}
                value=""
                options={[
                  ['', ''],
                  ...data.flatMap((one) => (one.settings.project === id ? [] : [[one.id, one.name] as const])),
                ]}
                onChange={(channel) => void (channel && give(channel, id).catch(showError))}
              />
            )}
          </>
        )}
      </Panel>
    </section>
  )
}
