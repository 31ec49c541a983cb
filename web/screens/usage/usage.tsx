/** Cost and tokens by day, model, session or source, and the limits. */

import { useState } from 'preact/hooks'
import { get } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { download } from '../../parts/download.ts'
import { Choice } from '../../parts/form.tsx'
import { type Loaded, Panel, Screen, useLoad } from '../../parts/load.tsx'
import { formatCost, formatNumber } from '../../words/format.ts'
import { t } from '../../words/words.ts'

const groups = ['day', 'model', 'session', 'source'] as const
type Group = (typeof groups)[number]
type Sums = {
  readonly turns: number
  readonly input: number
  readonly output: number
  readonly cached_read: number
  readonly cost_usd: number
}
type Row = Sums & { readonly key: string }
type Limit = { readonly limit: string; readonly max: number; readonly used: number; readonly status: string }
type Report = { readonly data: readonly Row[]; readonly totals: Sums; readonly limits: readonly Limit[] }

export function UsageScreen() {
  const [group, setGroup] = useState<Group>('day')
  const report = useLoad(() => get<Report>(`/api/usage?group=${group}&limit=200`), group)
  return (
    <Screen title={t('usage')} actions={<Csv of={report} group={group} />}>
      <Choice
        label={t('groupBy')}
        value={group}
        options={groups.map((one) => [one, t(`by_${one}`)] as const)}
        onChange={(one) => setGroup(one as Group)}
      />
      <Panel of={report}>
        {({ data, totals, limits }) =>
          data.length ? (
            <>
              <Totals totals={totals} />
              {group === 'day' && <Bars rows={data.toReversed()} />}
              <Table rows={data} />
              <Limits limits={limits} />
            </>
          ) : (
            <>
              <p class="note">{t('nothingSpent')}</p>
              <Limits limits={limits} />
            </>
          )
        }
      </Panel>
    </Screen>
  )
}

const Totals = ({ totals }: { readonly totals: Sums }) => (
  <p>
    <strong>{formatCost(totals.cost_usd)}</strong> ·{' '}
    {t('tokens', { count: formatNumber(totals.input + totals.output) })} ·{' '}
    {t('cacheShare', { share: Math.round((100 * totals.cached_read) / Math.max(1, totals.input)) })}
  </p>
)

/** The table below has the same numbers. */
function Bars({ rows }: { readonly rows: readonly Row[] }) {
  const highest = Math.max(...rows.map(weightOf), 1e-9)
  const width = 100 / rows.length
  return (
    <svg class="bars" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
      {rows.map((row, at) => {
        const height = (100 * weightOf(row)) / highest
        return <rect key={row.key} x={at * width + width * 0.1} width={width * 0.8} y={100 - height} height={height} />
      })}
    </svg>
  )
}

const weightOf = ({ cost_usd: cost, input, output }: Row): number => cost || (input + output) / 1e9

const Table = ({ rows }: { readonly rows: readonly Row[] }) => (
  <div class="table" tabIndex={0}>
    <table>
      <thead>
        <tr>
          <th>{t('name')}</th>
          <th>{t('cost')}</th>
          <th>{t('input')}</th>
          <th>{t('output')}</th>
          <th>{t('turns')}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cost_usd: cost, input, output, turns }) => (
          <tr key={key}>
            <td>{key || '–'}</td>
            <td>{formatCost(cost)}</td>
            <td>{formatNumber(input)}</td>
            <td>{formatNumber(output)}</td>
            <td>{formatNumber(turns)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Limits = ({ limits }: { readonly limits: readonly Limit[] }) => (
  <>
    {limits.map(({ limit, max, used, status }) => (
      <label key={limit} class="limit">
        <span>
          {limit}: {formatNumber(used)} / {formatNumber(max)}{' '}
          <span class={`badge ${status === 'ok' ? 'good' : 'warn'}`}>{status}</span>
        </span>
        <meter min={0} max={max} high={max * 0.8} value={used} />
      </label>
    ))}
  </>
)

const columns = ['key', 'turns', 'input', 'output', 'cached_read', 'cost_usd'] as const

function Csv({ of, group }: { readonly of: Loaded<Report>; readonly group: Group }) {
  const save = () => {
    const lines = (of.data?.data ?? []).map((row) => columns.map((name) => quote(String(row[name]))).join(','))
    download(`usage-${group}.csv`, new Blob([[columns.join(','), ...lines].join('\r\n')], { type: 'text/csv' }))
  }
  return (
    <Button onClick={save} disabled={!of.data?.data.length}>
      CSV
    </Button>
  )
}

/** Spreadsheets run text that begins like a formula. */
const quote = (text: string): string =>
  `"${(/^[=+@\t-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text).replaceAll('"', '""')}"`
