/** Recognises SQL statements that only read, or that change rows selected by a value. */

import { isKnown, type Field } from '#agent/path-policy/field.ts'

/** Statements that read, and statements that may change selected rows. */
const readingStatement =
  /^(select|explain|with|show|describe|desc|values|pragma\s+(table_info|table_list|index_list|foreign_key_list|database_list|user_version|journal_mode|integrity_check|schema_version)\b(?!.*=))/i
const changingStatement =
  /^(insert\s+into|update\s+\S+\s+set\b[\s\S]*\bwhere\b|delete\s+from\s+\S+\s+where\b|create\s+(temp\s+)?(table|index|view|unique index)|begin|commit|rollback|analyze)\b/i
const refusedSql =
  /\b(load_extension|writefile|readfile|edit|fts3_tokenizer|attach|vacuum\s+into|outfile|dumpfile|load_file|copy|program|pg_(read|write|ls|terminate|cancel|reload|rotate|switch|promote|logical|create|drop)\w*|lo_\w+|set(_config|val)|dblink\w*|pg_sleep|xp_\w+|drop|truncate|alter|grant|revoke|replace)\b/i
const dotCommand =
  /^\.(tables|schema|headers?|mode|indexes|indices|dbinfo|databases|width|show|timer|help|quit|exit)\b[^|'"]*$/
/** A condition that selects rows: a column equals one of some literal values. */
const rowCondition =
  /\b(?:where|and)\s+(?!(?:true|false|null)\b)[a-z_][\w.]*\s*(?:=\s*(?:''|\d[\d.]*|\?|:\w+)|\bin\s*\([^()]*\))(?=\s*(?:$|and\b|order\b|limit\b|returning\b))/i
const weakeningCondition = /\bor\b|\|\||\bnot\b|<>|!=|\bexists\b|\bselect\b/i

/** Whether a change selects its rows by a value. A condition that may hold for all rows does not. */
function selectsRows(statement: string): boolean {
  const condition = /\bwhere\b[\s\S]*/i.exec(statement)?.[0] ?? ''
  return /^insert\b/i.test(statement) || (rowCondition.test(condition) && !weakeningCondition.test(condition))
}

export function isHarmlessSql(text: Field, changes: boolean): boolean {
  if (!isKnown(text) || text.length > 10_000) return false
  // Strings contain no statements. Comments are refused, because they can hide the start of a string.
  const bare = text.replace(/'(?:[^']|'')*'/g, "''")
  if (refusedSql.test(bare) || /\\|\/\*|--/.test(bare)) return false
  return bare
    .split(';')
    .map((statement) => statement.trim())
    .every((statement) => {
      if (statement === '' || dotCommand.test(statement)) return true
      if (!/\b(delete|update|insert)\b/i.test(statement))
        return readingStatement.test(statement) || (changes && changingStatement.test(statement))
      return changes && changingStatement.test(statement) && selectsRows(statement)
    })
}
