/** The health of the deployment in words: what is missing, and everything else below. */

import { get } from '../../api/client.ts'
import { Panel, useLoad } from '../../parts/load.tsx'
import { t } from '../../words/words.ts'

type Group = Readonly<Record<string, string>>
type Details = {
  readonly status: 'ok' | 'degraded'
  readonly database?: string
  readonly model?: string
  readonly backend?: string
  readonly [group: string]: string | Group | undefined
}

export function Health() {
  const health = useLoad(() => get<Details>('/health/detailed'), '')
  return (
    <section class="list-of">
      <h2>{t('health')}</h2>
      <Panel of={health}>
        {(data) => (
          <>
            <p>
              <span class={`badge ${data.status === 'ok' ? 'good' : 'bad'}`}>{data.status === 'ok' ? 'OK' : '!'}</span>{' '}
              {t(data.status === 'ok' ? 'health_ok' : 'healthBad')} {t('health_database')}: {data.database}.{' '}
              {t('health_model')}: {data.model}.
            </p>
            {Object.entries(data).map(
              ([name, group]) => typeof group === 'object' && <Facts key={name} name={name} group={group} />,
            )}
          </>
        )}
      </Panel>
    </section>
  )
}

const Facts = ({ name, group }: { readonly name: string; readonly group: Group }) => (
  <details>
    <summary>{name}</summary>
    <dl class="fields">
      {Object.entries(group).map(([key, text]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd dir="auto">{text}</dd>
        </div>
      ))}
    </dl>
  </details>
)
