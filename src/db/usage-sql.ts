/**
 * Defines the SQL of usage queries. Usage is read from the pages of the history, and from `usage_kept` for turns whose
 * pages were deleted. A turn that exists in several sessions, because one is a copy of the other, counts once.
 */

/** ?2 ≤ time < ?3; ?4 is the day of ?2. One row for each turn. */
const turnsTable = `turns AS (
  SELECT run_id AS run, at, source, id AS session, model, usage, min(rank) AS rank FROM (
    SELECT page.run_id, page.at, session.source, session.id, page.model, page.usage, page.id AS rank
      FROM session JOIN page ON page.id > session.num << 20 AND page.id < (session.num + 1) << 20
      WHERE session.tenant_id = ?1 AND session.active_day >= ?4 AND session.created_at < ?3
        AND page.tenant_id = ?1 AND page.usage IS NOT NULL AND page.at >= ?2 AND page.at < ?3
    UNION ALL
    SELECT run_id, at, source, session_id, model, usage, 9e18 FROM usage_kept
      WHERE tenant_id = ?1 AND at >= ?2 AND at < ?3)
  GROUP BY run_id)`

/** One row for each turn, model and task. Older turns without `by` have one row with the requested model. */
export const partsTable = `${turnsTable},
  parts AS (
    SELECT run, at, source, session, part.key AS name, part.value AS counts
      FROM turns, json_each(turns.usage, '$.by') AS part
    UNION ALL
    SELECT run, at, source, session, coalesce(model, 'unknown'), usage FROM turns
      WHERE json_extract(usage, '$.by') IS NULL)`

const field = (name: string) => `counts ->> '$.${name}'`
export const tokensExpression = `(${['input', 'output', 'cachedRead', 'cachedWrite'].map(field).join(' + ')})`

/** Ordered from certain to uncertain. A sum has the status of its least certain part. */
export const costStatuses = ['included', 'actual', 'estimated', 'unknown'] as const
const certaintyExpression = `CASE ${field('costStatus')} ${costStatuses.map((status, i) => `WHEN '${status}' THEN ${i}`).join(' ')} ELSE 3 END`

const sumColumn = (value: string, name: string) => `coalesce(sum(${value}), 0) AS ${name}`

export const sumColumns = [
  'count(DISTINCT run) AS turns',
  sumColumn(`coalesce(${field('calls')}, 1)`, 'calls'),
  sumColumn(`coalesce(${field('cut')}, 0)`, 'cut_calls'),
  sumColumn(field('input'), 'input'),
  sumColumn(field('output'), 'output'),
  sumColumn(field('cachedRead'), 'cached_read'),
  sumColumn(field('cachedWrite'), 'cached_write'),
  sumColumn(field('reasoning'), 'reasoning'),
  sumColumn(field('costUsd'), 'cost_usd'),
  `coalesce(max(${certaintyExpression}), 0) AS certainty`,
].join(', ')
