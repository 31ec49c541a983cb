/** Renders the results of `talaria eval` for terminals, programs, CI and pull requests. */

import { dollars, plain, table } from '../output.mjs'

const percent = (share) => `${Math.round(share * 100)} %`
const nameOf = ({ name, model }) => (model ? `${name} · ${model}` : name)
const firstReason = ({ runs }) => {
  const failed = runs.flatMap(({ failures }) => failures)[0]
  return failed ? `${failed.assertion}: ${failed.reason}` : ''
}
const seconds = ({ runs }) => runs.reduce((sum, { ms }) => sum + ms, 0) / 1_000
const costOf = ({ runs }) => runs.reduce((sum, { cost }) => sum + cost, 0)

function changeOf({ before, passed, rate }) {
  if (!before) return 'new'
  if (before.passed && !passed) return 'worse'
  if (!before.passed && passed) return 'better'
  return before.rate === rate ? '' : `${percent(before.rate)} → ${percent(rate)}`
}

function renderTerminal(results) {
  const rows = results.map((one) => [
    one.passed ? '✓' : '✗',
    nameOf(one),
    percent(one.rate),
    `${one.runs[0]?.calls.length ?? 0}`,
    dollars(costOf(one)),
    `${seconds(one).toFixed(1)} s`,
    changeOf(one),
  ])
  const notes = results.flatMap(({ name, model, runs }) =>
    runs.flatMap(({ failures, warnings, session }) =>
      [...failures.map((one) => ['✗', one]), ...warnings.map((one) => ['!', one])].map(
        ([sign, { assertion, reason }]) =>
          `${sign} ${nameOf({ name, model })}: ${assertion}\n  ${reason}${session ? `  (${session})` : ''}`,
      ),
    ),
  )
  const head = ['', 'CASE', 'PASSED', 'CALLS', 'COST', 'TIME', 'SINCE LAST']
  return [table([head, ...rows]), ...notes.map(plain), summaryOf(results)].join('\n')
}

function summaryOf(results) {
  const passed = results.filter((one) => one.passed).length
  const worse = results.filter((one) => changeOf(one) === 'worse').length
  return `${passed} of ${results.length} passed${worse ? `, ${worse} that passed before` : ''}, ${dollars(results.reduce((sum, one) => sum + costOf(one), 0))}`
}

const renderJson = (results) => JSON.stringify({ results }, null, 2)

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;', '\t': '&#9;' }
/** XML has no place for two signs of Unicode and for halves of signs. */
const escape = (text) =>
  plain(text)
    .toWellFormed()
    .replace(/[\ufffe\uffff]/g, '')
    .replace(/[&<>"\n\t]/g, (sign) => entities[sign])

function renderJunit(results) {
  const failed = results.filter((one) => !one.passed).length
  const cases = results.map((one) => {
    const attributes = `classname="${escape(one.model ?? 'default')}" name="${escape(one.name)}" time="${seconds(one).toFixed(3)}"`
    const warned = one.runs.flatMap(({ warnings }) =>
      warnings.map(({ assertion, reason }) => `${assertion}: ${reason}`),
    )
    const output = warned.length ? `<system-out>${escape(warned.join('\n'))}</system-out>` : ''
    const failure = one.passed ? '' : `<failure message="${escape(firstReason(one))}"/>`
    return `    <testcase ${attributes}>${failure}${output}</testcase>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites tests="${results.length}" failures="${failed}">`,
    `  <testsuite name="talaria eval" tests="${results.length}" failures="${failed}">`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
  ].join('\n')
}

const cell = (text) => plain(text).replaceAll('|', '\\|').replaceAll('\n', ' ')

function renderMarkdown(results) {
  const rows = results.map(
    (one) =>
      `| ${one.passed ? '✅' : '❌'} | ${cell(one.name)} | ${cell(one.model ?? 'default')} | ${percent(one.rate)} | ${dollars(costOf(one))} | ${changeOf(one)} | ${cell(firstReason(one))} |`,
  )
  return [
    `**${summaryOf(results)}**`,
    '',
    '| | case | model | passed | cost | since last | why |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

export const reporters = { terminal: renderTerminal, json: renderJson, junit: renderJunit, markdown: renderMarkdown }
