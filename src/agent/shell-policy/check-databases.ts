/** Judges clients of databases by their options and by the statements that they are given. */

import { type Field, isKnown, renderField } from '#agent/path-policy/field.ts'
import { checkWrite } from './check-paths.ts'
import { reportNetwork } from './judge-run.ts'
import { type Grammar, mayBeOption, parseGrammar, readOptions } from './match-options.ts'
import type { CommandOutput, SimpleCommand } from './shell-state.ts'

export function judgeSqlite(call: SimpleCommand): CommandOutput {
  const words = call.args.filter(
    (word) =>
      !/^-(header|noheader|column|csv|json|line|list|markdown|box|table|readonly|batch|bail|html|tabs|quote)$/.test(
        word,
      ),
  )
  if (words.length === 1 && /^--?version$/.test(words[0] ?? '')) return undefined
  const refused = words.find((word) => word.startsWith('-') || mayBeOption(word, 'high'))
  if (refused !== undefined) call.ask(`sqlite3 is given ${renderField(refused)}`)
  const [database, ...statements] = words
  if (database !== undefined && database !== ':memory:') checkWrite(call, database, 'sqlite3', 'change')
  const texts = statements.length > 0 ? statements : [call.stdin]
  for (const text of texts)
    if (text === undefined || !isHarmlessSql(text, true))
      call.ask(`sqlite3 would run ${renderField(text ?? 'its input').slice(0, 80)}`)
  return undefined
}

const sqlClients: Readonly<Record<string, Grammar>> = {
  psql: parseGrammar(
    'tAqxXwlnN1 c= d= h= p= U= P= F= | command= dbname= host= port= username= no-psqlrc tuples-only no-align quiet expanded no-password list csv html single-transaction',
  ),
  mysql: parseGrammar(
    'NBstEv e= u= h= P= D= p | execute= user= host= port= database= batch silent skip-column-names table vertical protocol=',
  ),
}

export function judgeSqlClient(call: SimpleCommand): CommandOutput {
  if (call.args.length === 1 && /^(--version|-V)$/.test(call.args[0] ?? '')) return undefined
  const grammar = sqlClients[call.name === 'psql' ? 'psql' : 'mysql'] as Grammar
  const { problem, values } = readOptions(call.args, grammar, 'high')
  reportNetwork(call)
  if (problem !== undefined) call.ask(`${call.name} is given ${problem}`)
  const texts = values.filter(({ name }) => /^(c|e|command|execute)$/.test(name)).map(({ value }) => value)
  for (const text of texts.length > 0 ? texts : [call.stdin])
    if (!isReading(text)) call.ask(`${call.name} would run ${renderField(text ?? 'its input').slice(0, 80)}`)
  return undefined
}

const isReading = (text: CommandOutput): boolean =>
  text !== undefined && (/^\\(d[tinvuf]?\+?|l|dt\+?)\s*[\w.]*$/.test(text) || isHarmlessSql(text, false))

/** Statements that read, and statements that may change selected rows. */
const readingStatement =
  /^(select|explain|with|show|describe|desc|values|pragma\s+(table_info|table_list|index_list|foreign_key_list|database_list|user_version|journal_mode|integrity_check|schema_version)\b(?!.*=))/i
const changingStatement =
  /^(insert\s+into|update\s+\S+\s+set\b[\s\S]*\bwhere\b|delete\s+from\s+\S+\s+where\b|create\s+(temp\s+)?(table|index|view|unique index)|begin|commit|rollback|analyze)\b/i
const refusedSql =
  /\b(load_extension|writefile|readfile|edit|fts3_tokenizer|attach|vacuum\s+into|outfile|dumpfile|load_file|copy|program|pg_(read|write|ls|terminate|cancel|reload|rotate|switch|promote|logical|create|drop)\w*|lo_\w+|set(_config|val)|dblink\w*|pg_sleep|query_to_xml\w*|ts_stat|crosstab\w*|connectby|xpath_table|xp_\w+|sys_(exec|eval)|fsdir|zipfile|dbdata|drop|truncate|alter|grant|revoke|replace)\b/i
const dotCommand =
  /^\.(tables|schema|headers?|mode|indexes|indices|dbinfo|databases|width|show|timer|help|quit|exit)\b[^|'"\n]*$/
/** A condition that selects rows: a column equals one of some literal values. */
const rowCondition =
  /\b(?:where|and)\s+(?!(?:true|false|null)\b)[a-z_][\w.]*\s*(?:=\s*(?:''|\d[\d.]*|\?|:\w+)|\bin\s*\([^()]*\))(?=\s*(?:$|and\b|order\b|limit\b|returning\b))/i
const weakeningCondition = /\bor\b|\|\||\bnot\b|<>|!=|\bexists\b|\bselect\b/i

/** Whether a change selects its rows by a value. A condition that may hold for all rows does not. */
function selectsRows(statement: string): boolean {
  const condition = /\bwhere\b[\s\S]*/i.exec(statement)?.[0] ?? ''
  return /^insert\b/i.test(statement) || (rowCondition.test(condition) && !weakeningCondition.test(condition))
}

/** sqlite3 ends a statement at a line with a slash or `go`, and reads a line with a dot in front as a command. */
function separateLine(line: string): string {
  const word = line.trim().toLowerCase()
  if (word === '/' || word === 'go') return ';'
  return word.startsWith('.') ? `;${line};` : line
}

/**
 * Strings contain no statements. Undefined where clients disagree about the end of a string: after backslashes, comments,
 * dollar quotes, and quotes in the names of columns.
 */
function removeSqlStrings(text: string, isSqlite: boolean): string | undefined {
  if (!isSqlite && /\\|\$\w*\$/.test(text)) return undefined
  let isClear = true
  const bare = text.replace(/'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\[[^[\]]*\]/g, (quoted) => {
    if (quoted.startsWith("'")) return "''"
    isClear &&= !/[';\n]/.test(quoted)
    return quoted
  })
  return isClear && !/\\|\/\*|--|#/.test(bare) ? bare : undefined
}

/** Recognises SQL statements that only read, or that change rows selected by a value. */
function isHarmlessSql(text: Field, changes: boolean): boolean {
  if (!isKnown(text) || text.length > 10_000) return false
  const bare = removeSqlStrings(text, changes)
  if (bare === undefined || refusedSql.test(bare)) return false
  return bare
    .split('\n')
    .map(separateLine)
    .join('\n')
    .split(';')
    .map((statement) => statement.trim())
    .every((statement) => {
      if (statement === '' || dotCommand.test(statement)) return true
      if (!/\b(delete|update|insert)\b/i.test(statement))
        return readingStatement.test(statement) || (changes && changingStatement.test(statement))
      return changes && changingStatement.test(statement) && selectsRows(statement)
    })
}
