/** Hosts that the agents of the tenant have called, with what was refused. */

import { get, type Page } from '../../api/client.ts'
import { Panel, useLoad } from '../../parts/load.tsx'
import { formatBytes, formatDate, formatNumber } from '../../words/format.ts'
import { wordsOf } from '../../words/words.ts'

type Host = {
  readonly host: string
  readonly requests: number
  readonly bytes: number
  readonly refused: number
  readonly last_at: string
}

export function Hosts() {
  const hosts = useLoad(() => get<Page<Host>>('/api/usage/hosts?limit=200'), '')
  return (
    <section class="list-of" aria-label={say('title')}>
      <h2>{say('title')}</h2>
      <Panel of={hosts}>
        {({ data }) => (data.length ? <Table hosts={data} /> : <p class="note">{say('none')}</p>)}
      </Panel>
    </section>
  )
}

const Table = ({ hosts }: { readonly hosts: readonly Host[] }) => (
  <div class="table" tabIndex={0}>
    <table>
      <thead>
        <tr>
          <th>{say('host')}</th>
          <th class="align-right">{say('requests')}</th>
          <th class="align-right">{say('bytes')}</th>
          <th class="align-right">{say('refused')}</th>
          <th>{say('last')}</th>
        </tr>
      </thead>
      <tbody>
        {hosts.map(({ host, requests, bytes, refused, last_at: at }) => (
          <tr key={host}>
            <td dir="ltr">{host}</td>
            <td class="align-right">{formatNumber(requests)}</td>
            <td class="align-right">{formatBytes(bytes)}</td>
            <td class="align-right">{formatNumber(refused)}</td>
            <td>
              <time dateTime={at}>{formatDate(at)}</time>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const { say } = wordsOf(
  {
    bytes: 'Received',
    host: 'Host',
    last: 'Last',
    none: 'The agents have called no host yet.',
    refused: 'Refused',
    requests: 'Requests',
    title: 'Hosts that agents have called',
  },
  {
    bytes: 'Empfangen',
    host: 'Host',
    last: 'Zuletzt',
    none: 'Die Agenten haben noch keinen Host aufgerufen.',
    refused: 'Abgelehnt',
    requests: 'Anfragen',
    title: 'Hosts, die Agenten aufgerufen haben',
  },
)
