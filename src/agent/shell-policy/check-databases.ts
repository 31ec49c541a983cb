/** Judges clients of databases by their options and by the statements that they are given. */

import { renderField } from '#agent/path-policy/field.ts'
import { checkWrite } from './check-paths.ts'
import { reportNetwork } from './judge-run.ts'
import { isHarmlessSql } from './languages/sql-statements.ts'
import { mayBeOption, parseGrammar, readOptions, type Grammar } from './match-options.ts'
import type { SimpleCommand, CommandOutput } from './shell-state.ts'

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
