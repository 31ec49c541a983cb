// Keeps the result of work on a text between processes: the file's first line names the text and the rules that it is of.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Returns `work(source)`, done once for each source and version of the rules. */
export function keepResult(file, source, rules, work) {
  const line = `// ${createHash('sha256').update(rules).update('\0').update(source).digest('hex')}\n`
  const kept = readKept(file)
  if (kept?.startsWith(line)) return kept.slice(line.length)
  const result = work(source)
  mkdirSync(dirname(file), { recursive: true })
  // Other processes may read it meanwhile.
  const unfinished = `${file}.${process.pid}`
  writeFileSync(unfinished, line + result)
  renameSync(unfinished, file)
  return result
}

function readKept(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}
