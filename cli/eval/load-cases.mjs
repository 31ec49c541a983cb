/** Loads the cases of `talaria eval`: YAML, JavaScript or TypeScript files, or a folder with them. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { UsageError } from '../exits.mjs'
import { findCaseProblem } from './check-case.mjs'

const isCaseFile = (name) => /\.eval\.(ya?ml|[cm]?[jt]s)$/.test(name)

export async function loadCases(paths) {
  const files = paths.flatMap(listFiles)
  if (!files.length) throw new UsageError('There is no *.eval.yaml, *.eval.ts or *.eval.mjs here.')
  const cases = []
  for (const file of files) for (const one of await readCases(file)) cases.push(checkCase(one, file))
  const names = cases.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new UsageError(`Two cases have the name "${twice}".`)
  return cases
}

function listFiles(path) {
  if (!existsSync(path)) throw new UsageError(`There is no ${path}.`)
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { recursive: true })
    .map(String)
    .filter((name) => isCaseFile(name) && !name.includes('node_modules'))
    .toSorted()
    .map((name) => join(path, name))
}

/** A file has one case, a list of them, or `cases` with defaults beside it. */
async function readCases(file) {
  const read = /\.ya?ml$/.test(file) ? await readYaml(file) : await readModule(file)
  const hasDefaults = !Array.isArray(read) && read?.cases !== undefined
  const { cases, ...defaults } = hasDefaults ? read : { cases: [read].flat() }
  // Without cases the file would pass.
  if (!Array.isArray(cases) || !cases.length) throw new UsageError(`${file} needs a list of cases.`)
  return cases.map((one) => ({ ...defaults, ...one }))
}

async function readYaml(file) {
  const { parse } = await import('yaml')
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`${file}: ${error.message}`)
  }
}

async function readModule(file) {
  try {
    return (await import(pathToFileURL(resolve(file)).href)).default
  } catch (error) {
    const isOld = error?.code === 'ERR_UNKNOWN_FILE_EXTENSION'
    throw new UsageError(
      `${file}: ${isOld ? 'cases in TypeScript need Node 22.18 or newer.' : (error?.message ?? String(error))}`,
    )
  }
}

function checkCase(given, file) {
  const problem = findCaseProblem(given)
  if (problem !== undefined) throw new UsageError(`${file}: ${problem}`)
  const { model, ...rest } = given
  return { ...rest, ...(model !== undefined && { models: [model] }), file }
}
