/** Cost and tokens by day, model, session or source, and the limits. */

import { useState } from 'preact/hooks'
import { get } from '../../api/client.ts'
import { type Bar, barsOf, cacheShareOf } from '../../model/usage.ts'
import { Button } from '../../parts/button.tsx'
import { download } from '../../parts/download.ts'
import { Choice } from '../../parts/form.tsx'
import { type Loaded, Panel, Screen, useLoad } from '../../parts/load.tsx'
import { formatCost, formatNumber } from '../../words/format.ts'
import { sourceName } from '../../words/source-name.ts'
import { language, t, wordsOf } from '../../words/words.ts'
import { sessions } from '../sessions/sessions.ts'
import { Hosts } from './hosts.tsx'

const groups = ['day', 'model', 'session', 'source', 'day,model', 'day,source', 'model,session'] as const
type Group = (typeof groups)[number]
const spans = ['7', '30', '90']
const dayMs = 86_400_000
type Sums = {
  readonly turns: number
  readonly input: number
  readonly output: number
  readonly cached_read: number
  readonly cached_write: number
  readonly cost_usd: number
}
type Row = Sums & { readonly key: string } & { readonly [name in 'day' | 'model' | 'session' | 'source']?: string }
type Limit = { readonly limit: string; readonly max: number; readonly used: number; readonly status: string }
type Report = {
  readonly tz: string
  readonly next_cursor: string | null
  readonly data: readonly Row[]
  readonly totals: Sums
  readonly limits: readonly Limit[]
}

export function UsageScreen() {
  const [group, setGroup] = useState<Group>('day')
  const [days, setDays] = useState('30')
  const address = addressFor(group, days)
  const report = useLoad(() => get<Report>(address), address)
  return (
    <Screen title={t('usage')} actions={<Csv of={report} group={group} address={address} />}>
      <div class="row filters">
        <Choice
          label={t('groupBy')}
          value={group}
          options={groups.map((one) => [one, nameOf(one)] as const)}
          onChange={(one) => setGroup(one as Group)}
        />
        <Choice label={t('days')} value={days} options={spans.map((one) => [one, one] as const)} onChange={setDays} />
      </div>
      <Panel of={report}>
        {({ data, totals, limits, tz }) =>
          data.length ? (
            <>
              <Totals totals={totals} />
              <p class="note">
                {t('zone')}: {tz}
              </p>
              {group === 'day' && <Bars bars={barsOf(data, dayIn(tz, Number(days)), dayIn(tz, 0))} />}
              <Table rows={data} group={group} />
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
      <Hosts />
    </Screen>
  )
}

/** The day that was so many days ago. */
const dayIn = (timeZone: string, ago: number): string =>
  new Date(Date.now() - ago * dayMs).toLocaleDateString('sv', { timeZone })

/** Days are those of the person at the page. */
const addressFor = (group: Group, days: string): string => {
  const tz = Intl.DateTimeFormat().resolvedOptions().timeZone
  const from = dayIn(tz, Number(days))
  return `/api/usage?${new URLSearchParams({ group, from, tz, limit: '200' })}`
}

const nameOf = (group: Group): string => {
  const [one, two] = group.split(',') as [
    'day' | 'model' | 'session' | 'source',
    'model' | 'session' | 'source' | undefined,
  ]
  return two ? t('by_two', { one: t(`by_${one}`), two: t(`by_${two}`) }) : t(`by_${one}`)
}

const Totals = ({ totals }: { readonly totals: Sums }) => (
  <p>
    <strong>{formatCost(totals.cost_usd)}</strong> ·{' '}
    {t('tokens', { count: formatNumber(totals.input + totals.output) })} ·{' '}
    {t('cacheShare', { share: cacheShareOf(totals) })}
  </p>
)

/** The table below has the same numbers. */
function Bars({ bars }: { readonly bars: readonly Bar[] }) {
  if (!bars.length) return null
  const highest = bars.reduce((one, other) => (other.value > one.value ? other : one))
  const width = 100 / bars.length
  return (
    <figure class="chart">
      <figcaption class="note">
        {t('highestDay', { value: formatBar(highest), day: formatDate(highest.day) })}
      </figcaption>
      <svg class="bars" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        {bars.map((bar, at) => {
          const height = (100 * bar.value) / highest.value
          return (
            <rect key={bar.day} x={at * width + width * 0.1} width={width * 0.8} y={100 - height} height={height}>
              <title>{`${formatDate(bar.day)}: ${formatBar(bar)}`}</title>
            </rect>
          )
        })}
      </svg>
      <div class="row note axis">
        <span>{formatDate(bars[0]?.day ?? '')}</span>
        <span>{formatDate(bars.at(-1)?.day ?? '')}</span>
      </div>
    </figure>
  )
}

/** Days have no time zone here. */
const formatDate = (day: string): string =>
  new Date(day).toLocaleDateString(language.value, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const formatBar = ({ value, unit }: Bar): string =>
  unit === 'usd' ? formatCost(value) : t('tokens', { count: formatNumber(value) })

/** With two groups a row has a field for each. */
const nameRow = (row: Row, group: Group): string =>
  group
    .split(',')
    .map((one) => {
      const value = group.includes(',') ? row[one as 'day'] : row.key
      if (one === 'source' && value) return sourceName(value)
      return (one === 'session' && sessions.value.find(({ id }) => id === value)?.title) || value || '–'
    })
    .join(' · ')

const Table = ({ rows, group }: { readonly rows: readonly Row[]; readonly group: Group }) => (
  <div class="table" tabIndex={0}>
    <table>
      <thead>
        <tr>
          <th>{t('name')}</th>
          <th class="align-right">{t('cost')}</th>
          <th class="align-right">{t('input')}</th>
          <th class="align-right">{t('output')}</th>
          <th class="align-right">{t('turns')}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={[row.key, row.day, row.model, row.session, row.source].join()}>
            <td>{nameRow(row, group)}</td>
            <td class="align-right">{formatCost(row.cost_usd)}</td>
            <td class="align-right">{formatNumber(row.input)}</td>
            <td class="align-right">{formatNumber(row.output)}</td>
            <td class="align-right">{formatNumber(row.turns)}</td>
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
          {wordOf('limit', limit)}: {formatNumber(used)} / {formatNumber(max)}{' '}
          <span class={`badge ${status === 'ok' ? 'good' : 'warn'}`}>{wordOf('status', status)}</span>
        </span>
        <meter min={0} max={max} high={max * 0.8} value={used} />
      </label>
    ))}
  </>
)

const columns = [
  'key',
  'day',
  'model',
  'session',
  'source',
  'turns',
  'input',
  'output',
  'cached_read',
  'cost_usd',
] as const

type CsvProps = { readonly of: Loaded<Report>; readonly group: Group; readonly address: string }

/** Has all pages, not only the first one that is shown. */
function Csv({ of, group, address }: CsvProps) {
  const save = async () => {
    const rows = [...(of.data?.data ?? [])]
    for (let next = of.data?.next_cursor; next;) {
      const page = await get<Report>(`${address}&cursor=${encodeURIComponent(next)}`)
      rows.push(...page.data)
      next = page.next_cursor
    }
    const lines = rows.map((row) => columns.map((name) => quote(String(row[name] ?? ''))).join(','))
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

const { nameOf: wordOf } = wordsOf(
  {
    limit_tokens_per_day: 'Tokens per day',
    limit_tokens_per_month: 'Tokens per month',
    limit_unattended_tokens_per_day: 'Tokens without a person, per day',
    limit_unattended_usd_per_day: 'USD without a person, per day',
    limit_usd_per_day: 'USD per day',
    limit_usd_per_month: 'USD per month',
    status_ok: 'Within the limit',
    status_reached: 'Reached',
    status_warning: 'Nearly reached',
  },
  {
    limit_tokens_per_day: 'Tokens je Tag',
    limit_tokens_per_month: 'Tokens je Monat',
    limit_unattended_tokens_per_day: 'Tokens ohne Person, je Tag',
    limit_unattended_usd_per_day: 'USD ohne Person, je Tag',
    limit_usd_per_day: 'USD je Tag',
    limit_usd_per_month: 'USD je Monat',
    status_ok: 'Eingehalten',
    status_reached: 'Erreicht',
    status_warning: 'Fast erreicht',
  },
)
