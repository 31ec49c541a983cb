// Names the places of a stack trace in the source, with the source maps of a build.
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join, relative, resolve } from 'node:path'

/** A place in a module of the build, as `chunk-ABCDEFGH.js:1:2345`, with or without an address before it. */
const place = /(?:[\w+.-]+:\/\/)?[^\s()"'\\]*?([\w-]+\.js):(\d+):(\d+)/g

/** Places of modules that the build does not have stay as they are. `from`: names of files begin there. */
export function readTrace(text, folder, from = process.cwd()) {
  const maps = new Map()
  const mapOf = (name) => {
    if (!maps.has(name)) maps.set(name, loadMap(join(folder, `${name}.map`)))
    return maps.get(name)
  }
  return text.replaceAll(place, (whole, name, line, column) => {
    const { fileName, lineNumber, columnNumber } = mapOf(name)?.findOrigin(Number(line), Number(column)) ?? {}
    return fileName === undefined ? whole : `${relative(from, resolve(folder, fileName))}:${lineNumber}:${columnNumber}`
  })
}

const loadMap = (file) => (existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : undefined)
